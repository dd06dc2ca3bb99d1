import { type Import, readImports } from './imports.ts'
import { fileAt, type Place, placeOf } from './places.ts'
import { type Exception, type Layer, REACHES_INSIDE, SERVICE_LAYERS, WORKSPACES } from './rules.ts'

export interface Violation {
  readonly file: string
  readonly line: number
  readonly specifier: string
  readonly reason: string
}

/** What each workspace's package.json exports, as others write it: `@atrium/kernel/db`. */
export type Entries = ReadonlySet<string>

/** `@atrium/*` covers one more part of a name, whatever it is. */
function covers(pattern: string, name: string): boolean {
  const parts = pattern.split('/')
  const named = name.split('/')
  return parts.length === named.length && parts.every((part, index) => part === '*' || part === named[index])
}

const isLayer = (layer: Place['layer']): layer is Layer =>
  layer !== undefined && layer !== 'asset' && layer !== 'none'

const coversAny = (patterns: readonly string[], name: string): boolean =>
  patterns.some((pattern) => covers(pattern, name))

/** Whether a list of packages names this one, or a name that is taken of it. */
function namesPackage(patterns: readonly string[], specifier: string, names: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const [entry = '', name] = pattern.split('#')
    return covers(entry, specifier) && (name === undefined || names.includes(name) || names.includes('*'))
  })
}

function refuseFile(from: Place, file: string, isTypeOnly: boolean): string | undefined {
  const to = placeOf(file)
  if (to.workspace !== from.workspace) {
    return REACHES_INSIDE.includes(from.workspace) || /\.md$/.test(file)
      ? undefined
      : `another workspace's inside: import an entry that its package.json exports`
  }
  if (to.isTest && !from.isTest) return 'sources do not import tests'
  if (to.layer === 'none') return 'it belongs to no layer of a service'
  if (!isLayer(from.layer) || !isLayer(to.layer)) return undefined
  const { imports, types = [] } = SERVICE_LAYERS[from.layer]
  if (imports.includes(to.layer) || (isTypeOnly && types.includes(to.layer))) return undefined
  const isType = types.includes(to.layer) ? 'more than types of ' : ''
  return `${from.layer} does not import ${isType}${to.layer}`
}

function refuseWorkspace(from: Place, entry: string, entries: Entries): string | undefined {
  if (!entries.has(entry)) return 'no entry of that package'
  const rule = WORKSPACES[from.workspace]
  const itself = `@atrium/${from.workspace.split('/')[1]}`
  if (from.isTest && (entry === itself || entry.startsWith(`${itself}/`))) return undefined
  const { imports, tests = [] } = rule ?? { imports: [] }
  if (coversAny(imports, entry) || (from.isTest && coversAny(tests, entry))) return undefined
  return `${from.workspace} does not import it`
}

function refuse(from: Place, file: string, found: Import, entries: Entries): string | undefined {
  const { specifier, names, isTypeOnly } = found
  if (specifier === undefined && REACHES_INSIDE.includes(from.workspace)) return undefined
  if (specifier === undefined) return 'which module this is cannot be told before it runs'
  if (/^(?:\/|file:|#)/.test(specifier)) return 'modules are named relatively, or by their package'
  if (specifier.startsWith('.')) return refuseFile(from, fileAt(file, specifier), isTypeOnly)
  if (isLayer(from.layer)) {
    const { without = [] } = SERVICE_LAYERS[from.layer]
    if (namesPackage(without, specifier, names)) return `it does not belong into ${from.layer}`
  }
  return specifier.startsWith('@atrium/') ? refuseWorkspace(from, specifier, entries) : undefined
}

/** What is wrong with the imports of one source. */
export function check(file: string, source: string, entries: Entries): Violation[] {
  const from = placeOf(file)
  if (from.layer === 'none') {
    return [{ file, line: 1, specifier: '', reason: 'it belongs to no layer of a service' }]
  }
  return readImports(file, source).flatMap((found) => {
    const reason = refuse(from, file, found, entries)
    return reason === undefined ? [] : [{ file, line: found.line, specifier: found.specifier ?? '?', reason }]
  })
}

/** Takes out what is known. @returns what remains, and the exceptions that nothing needs any more */
export function withoutKnown(
  violations: readonly Violation[],
  exceptions: readonly Exception[],
): { violations: Violation[]; unneeded: string[] } {
  const keyOf = (file: string, specifier: string): string => `${file}: ${specifier}`
  const known = new Set(
    exceptions.flatMap(({ file, specifiers }) => specifiers.map((specifier) => keyOf(file, specifier))),
  )
  const found = new Set(violations.map(({ file, specifier }) => keyOf(file, specifier)))
  return {
    violations: violations.filter(({ file, specifier }) => !known.has(keyOf(file, specifier))),
    unneeded: [...known].filter((key) => !found.has(key)),
  }
}
