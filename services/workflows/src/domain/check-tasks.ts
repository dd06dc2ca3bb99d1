import type { StoredTask } from '../queries/tables.ts'
import { faultsOfArguments } from './templates/arguments.ts'
import { releaseFor, TEMPLATES, VERSION_FORM } from './templates/registry.ts'

export const MOST_TASKS = 200
/** Of one argument's value, in bytes of UTF-8. */
export const LARGEST_VALUE = 65_536
/** Of all arguments of a version, names and values. */
export const LARGEST_ARGUMENTS = 1_048_576

const TASK_NAME = /^[A-Za-z](?:[-A-Za-z0-9]{0,126}[A-Za-z0-9])?$/
const FIELDS = ['name', 'templateRef', 'arguments', 'dependencies']
const MOST_FAULTS_A_TASK = 50

export interface CheckedTasks {
  /** The tasks with what they left out filled in; empty where there are faults. */
  readonly tasks: readonly StoredTask[]
  /** In words, each naming the task; empty when all is well. */
  readonly faults: readonly string[]
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const shown = (text: string): string => JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text)

/**
 * What is wrong with the tasks of a version, every fault at once: forms, templates, arguments, dependencies, cycles.
 * @param given anything that JSON can say
 */
export function checkTasks(given: readonly unknown[]): CheckedTasks {
  if (given.length === 0 || given.length > MOST_TASKS) {
    return { tasks: [], faults: [`a version has 1 to ${MOST_TASKS} tasks; these are ${given.length}`] }
  }
  const faults: string[] = []
  const tasks = given.flatMap((task, index) => {
    const read = readTask(task)
    const name = read.task?.name ?? nameOf(task)
    const label = name === undefined ? `task ${index + 1}` : `task ${shown(name)}`
    const told = read.faults.slice(0, MOST_FAULTS_A_TASK)
    faults.push(...told.map((fault) => `${label}: ${fault}`))
    return read.task === undefined ? [] : [read.task]
  })
  faults.push(...faultsOfNames(given), ...faultsOfSize(tasks))
  const names = new Set(given.flatMap((task) => nameOf(task) ?? []))
  faults.push(...faultsOfDependencies(tasks, names), ...faultsOfOrder(tasks))
  return { tasks: faults.length === 0 ? tasks : [], faults }
}

const nameOf = (task: unknown): string | undefined =>
  isObject(task) && typeof task.name === 'string' ? task.name : undefined

/** A task whose form is good enough to look further, and what is wrong with it by itself. */
function readTask(given: unknown): { task?: StoredTask; faults: string[] } {
  if (!isObject(given)) return { faults: ['must be an object'] }
  const unknown = Object.keys(given).filter((field) => !FIELDS.includes(field))
  const faults = unknown.slice(0, MOST_FAULTS_A_TASK).map((field) => `there is no field ${shown(field)}`)
  const name = nameOf(given)
  if (name === undefined) faults.push('name is required, a string')
  else if (!TASK_NAME.test(name))
    faults.push(
      'name must be 1 to 128 letters, digits and hyphens, begin with a letter and end with no hyphen',
    )
  const values = readArguments(given.arguments, faults)
  const dependencies = readDependencies(given.dependencies, faults)
  const templateRef = readTemplate(given.templateRef, values, faults)
  if (name === undefined) return { faults }
  return { task: { name, templateRef, arguments: values ?? {}, dependencies }, faults }
}

function readTemplate(
  given: unknown,
  values: Record<string, string> | undefined,
  faults: string[],
): StoredTask['templateRef'] {
  const ref = { name: '', version: '' }
  if (!isObject(given) || typeof given.name !== 'string' || typeof given.version !== 'string') {
    faults.push('templateRef is required: {name, version}, both strings')
    return ref
  }
  const unknown = Object.keys(given).find((field) => field !== 'name' && field !== 'version')
  if (unknown !== undefined) faults.push(`there is no field ${shown(unknown)} in templateRef`)
  const { name, version } = given as { name: string; version: string }
  if (!TEMPLATES.has(name)) faults.push(`there is no template ${shown(name)}`)
  if (!VERSION_FORM.test(version))
    faults.push(`the template version ${shown(version)} must be like v1, v1.2 or v1.2.3`)
  else if (TEMPLATES.has(name)) {
    const release = releaseFor(name, version)
    if (release === undefined) faults.push(`there is no release ${version} of the template ${name}`)
    else if (values !== undefined) faults.push(...faultsOfArguments(release, values))
  }
  return { name, version }
}

/** @returns undefined where they are not arguments at all */
function readArguments(given: unknown, faults: string[]): Record<string, string> | undefined {
  if (given === undefined) return {}
  if (!isObject(given)) {
    faults.push('arguments must be an object of strings')
    return undefined
  }
  const values: [string, string][] = []
  for (const [name, value] of Object.entries(given)) {
    if (typeof value !== 'string') faults.push(`the argument ${shown(name)} must be a string`)
    else if (Buffer.byteLength(value) > LARGEST_VALUE)
      faults.push(`the argument ${shown(name)} is longer than ${LARGEST_VALUE} bytes`)
    else values.push([name, value])
  }
  return values.length === Object.keys(given).length ? Object.fromEntries(values) : undefined
}

function readDependencies(given: unknown, faults: string[]): string[] {
  if (given === undefined) return []
  if (!Array.isArray(given) || !given.every((one) => typeof one === 'string')) {
    faults.push('dependencies must be an array of task names')
    return []
  }
  if (given.length >= MOST_TASKS) {
    faults.push(`there are ${given.length} dependencies; at most ${MOST_TASKS - 1} are possible`)
    return []
  }
  return given
}

function faultsOfNames(given: readonly unknown[]): string[] {
  const seen = new Set<string>()
  const twice = new Set<string>()
  for (const task of given) {
    const name = nameOf(task)
    if (name === undefined) continue
    if (seen.has(name)) twice.add(name)
    seen.add(name)
  }
  return [...twice].map((name) => `task ${shown(name)}: several tasks have this name`)
}

function faultsOfSize(tasks: readonly StoredTask[]): string[] {
  let bytes = 0
  for (const { arguments: values } of tasks)
    for (const [name, value] of Object.entries(values))
      bytes += Buffer.byteLength(name) + Buffer.byteLength(value)
  return bytes > LARGEST_ARGUMENTS
    ? [`the arguments of all tasks have ${bytes} bytes together; at most ${LARGEST_ARGUMENTS} are possible`]
    : []
}

function faultsOfDependencies(tasks: readonly StoredTask[], names: ReadonlySet<string>): string[] {
  return tasks.flatMap(({ name, dependencies }) => {
    const unique = new Set(dependencies)
    const faults = unique.size === dependencies.length ? [] : ['names a dependency twice']
    if (unique.has(name)) faults.push('depends on itself')
    for (const dependency of unique)
      if (!names.has(dependency))
        faults.push(`depends on ${shown(dependency)}, which is no task of this version`)
    return faults.map((fault) => `task ${shown(name)}: ${fault}`)
  })
}

/** Takes away what nothing holds back until nothing moves: what is left stands in cycles or behind them. */
function faultsOfOrder(tasks: readonly StoredTask[]): string[] {
  const waiting = new Map(tasks.map((task) => [task.name, new Set(task.dependencies)]))
  for (const [name, on] of waiting) {
    // Told already, and no part of a cycle of several.
    on.delete(name)
    for (const one of on) if (!waiting.has(one)) on.delete(one)
  }
  const cycle = findCycle(waiting)
  if (cycle === undefined) return []
  const names = cycle.slice(0, LONGEST_CYCLE_SHOWN).map(shown)
  const rest = cycle.length > names.length ? ['…'] : []
  return [`task ${names[0]}: stands in a cycle: ${[...names, ...rest, names[0]].join(' → ')}`]
}

const LONGEST_CYCLE_SHOWN = 20

/** @returns names of tasks each of which depends on the next, and the last on the first */
function findCycle(waiting: Map<string, Set<string>>): string[] | undefined {
  const dependents = new Map<string, string[]>()
  for (const [name, on] of waiting)
    for (const one of on) dependents.set(one, [...(dependents.get(one) ?? []), name])
  const left = new Map([...waiting].map(([name, on]) => [name, on.size]))
  const free = [...left].flatMap(([name, count]) => (count === 0 ? [name] : []))
  for (let name = free.pop(); name !== undefined; name = free.pop()) {
    left.delete(name)
    for (const one of dependents.get(name) ?? []) {
      const count = (left.get(one) ?? 0) - 1
      left.set(one, count)
      if (count === 0) free.push(one)
    }
  }
  const [start] = left.keys()
  if (start === undefined) return undefined
  // Each that is left waits for another that is left: whoever goes on comes to where they have been.
  const way: string[] = []
  let at: string | undefined = start
  while (at !== undefined && !way.includes(at)) {
    way.push(at)
    at = [...(waiting.get(at) ?? [])].find((one) => left.has(one))
  }
  return way.slice(way.indexOf(at ?? ''))
}
