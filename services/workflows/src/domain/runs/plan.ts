import type { PlannedTask } from '../../ports.ts'
import type { StoredTask } from '../../queries/tables.ts'
import { referencesIn } from '../references.ts'
import { faultsOfArguments, fillArguments, secretsIn } from '../templates/arguments.ts'
import { releaseFor } from '../templates/registry.ts'

type Configuration = Readonly<Record<string, string>>

/** What is written into the plan, in bytes; also when references repeat a value a thousand times. */
const MOST_ARGUMENT_BYTES = 65_536
const MOST_PLAN_BYTES = 1_048_576

export interface Plan {
  readonly tasks: readonly PlannedTask[]
  /** Why it cannot run, a message for each reason, naming task and reference; empty for a good plan. */
  readonly faults: readonly string[]
}

/** A lower bound of what an argument weighs once it is filled in, without filling it in. */
function filledBytes(text: string, configuration: Configuration): number {
  return referencesIn(text).reduce(
    (sum, { kind, name }) =>
      kind === 'config' && Object.hasOwn(configuration, name)
        ? sum + (configuration[name] ?? '').length
        : sum,
    text.length,
  )
}

function planTask(
  task: StoredTask,
  configuration: Configuration,
): { planned?: PlannedTask; faults: string[] } {
  const told = (reason: string): string => `Task ${task.name}: ${reason}`
  const { name, version } = task.templateRef
  const release = releaseFor(name, version)
  if (release === undefined) return { faults: [told(`there is no template ${name} ${version} any more`)] }
  const heavy = Object.entries(task.arguments).find(
    ([, value]) => filledBytes(value, configuration) > MOST_ARGUMENT_BYTES,
  )
  if (heavy !== undefined) return { faults: [told(tooLong(heavy[0]))] }
  const filled = fillArguments(release, task.arguments, configuration)
  const unresolved = filled.missing.map((key) =>
    told(`\${config.${key}} is not resolved by any configuration`),
  )
  if (unresolved.length > 0) return { faults: unresolved }
  const long = Object.entries(filled.arguments).find(([, value]) => value.length > MOST_ARGUMENT_BYTES)
  if (long !== undefined) return { faults: [told(tooLong(long[0]))] }
  return {
    planned: {
      name: task.name,
      template: { name, version: release.version },
      arguments: filled.arguments,
      dependencies: task.dependencies,
    },
    faults: faultsOfArguments(release, filled.arguments).map(told),
  }
}

const tooLong = (argument: string): string =>
  `${argument} is longer than ${MOST_ARGUMENT_BYTES} bytes once its references are filled in`

/**
 * The tasks of a version as an engine is to run them: exact releases of their templates, configuration filled in.
 * References to secrets stay what they are.
 */
export function planTasks(tasks: readonly StoredTask[], configuration: Configuration): Plan {
  const planned: PlannedTask[] = []
  const faults: string[] = []
  let bytes = 0
  for (const task of tasks) {
    const result = planTask(task, configuration)
    faults.push(...result.faults)
    if (result.planned === undefined) continue
    bytes += Object.values(result.planned.arguments).reduce((sum, value) => sum + value.length, 0)
    if (bytes > MOST_PLAN_BYTES) {
      return {
        tasks: [],
        faults: [`The arguments of all tasks are longer than ${MOST_PLAN_BYTES} bytes together`],
      }
    }
    planned.push(result.planned)
  }
  return { tasks: planned, faults }
}

/** Which secrets a plan needs: their names, each with the first task that names it. */
export function secretsOf(tasks: readonly PlannedTask[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const task of tasks)
    for (const name of secretsIn(task.arguments)) if (!found.has(name)) found.set(name, task.name)
  return found
}
