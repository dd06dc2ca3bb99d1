import { type Filled, fillConfiguration, fillSecrets, parseReferences, referencesIn } from '../references.ts'
import { releaseFor } from './registry.ts'
import type { ArgumentSpec, TemplateRelease } from './template.ts'

type Arguments = Readonly<Record<string, string>>

const list = (names: readonly string[]): string => names.join(', ')

function faultsOfValue(spec: ArgumentSpec, value: string): string[] {
  const { parts, faults } = parseReferences(value)
  if (faults.length > 0) return faults.map((fault) => `${spec.name}: ${fault}`)
  const references = parts.filter((part) => typeof part !== 'string')
  const hasSecrets = references.some(({ kind }) => kind === 'secret')
  if (hasSecrets && spec.secrets === 'no') return [`${spec.name}: no secret may stand in it`]
  if (spec.secrets === 'only' && (parts.length !== 1 || !hasSecrets))
    return [`${spec.name}: must be one secret reference, like \${secret.NAME}`]
  if (spec.secrets === 'only') return []
  // In JSON references stand in strings, where any text is as good as what they give.
  if (references.length > 0 && !(spec.isJson === true && parts.length > 1)) return []
  const reason = spec.check?.(spec.isJson === true ? value : parts.join(''))
  return reason === undefined ? [] : [`${spec.name}: ${reason}`]
}

/** What is wrong with a task's arguments, in words, every fault at once. Values that references fill are not looked at. */
export function faultsOfArguments(release: TemplateRelease, given: Arguments): string[] {
  const specs = new Map(release.arguments.map((spec) => [spec.name, spec]))
  const missing = release.arguments.filter(({ name, required }) => required && !Object.hasOwn(given, name))
  const faults = missing.map(({ name }) => `${name} is required`)
  for (const [name, value] of Object.entries(given)) {
    const spec = specs.get(name)
    if (spec !== undefined) faults.push(...faultsOfValue(spec, value))
    else
      faults.push(
        `there is no argument ${JSON.stringify(name.slice(0, 100))} in ${release.name} ${release.version}`,
      )
  }
  const choice = release.oneOf ?? []
  const chosen = choice.filter((name) => Object.hasOwn(given, name))
  if (choice.length > 0 && chosen.length !== 1) faults.push(`exactly one of ${list(choice)} is required`)
  return faults
}

const isJson = (release: TemplateRelease, name: string): boolean =>
  release.arguments.some((spec) => spec.name === name && spec.isJson === true)

function filled(given: Arguments, fill: (name: string, value: string) => Filled): FilledArguments {
  const missing = new Set<string>()
  const entries = Object.entries(given).map(([name, value]) => {
    const one = fill(name, value)
    for (const reference of one.missing) missing.add(reference)
    return [name, one.text]
  })
  return { arguments: Object.fromEntries(entries) as Record<string, string>, missing: [...missing] }
}

export interface FilledArguments {
  readonly arguments: Arguments
  /** Names of references that nothing was given for, each once. */
  readonly missing: readonly string[]
}

/** Fills in the configuration, for a plan: secrets still stand in it as references. */
export const fillArguments = (
  release: TemplateRelease,
  given: Arguments,
  configuration: Readonly<Record<string, string>>,
): FilledArguments =>
  filled(given, (name, value) => fillConfiguration(value, configuration, isJson(release, name)))

/** Names of the secrets that arguments refer to, each once. */
export const secretsIn = (given: Arguments): string[] => [
  ...new Set(
    Object.values(given).flatMap((value) =>
      referencesIn(value).flatMap(({ kind, name }) => (kind === 'secret' ? [name] : [])),
    ),
  ),
]

/** The arguments of a planned task as its program gets them. For the moment it starts, and to be kept nowhere. */
export function revealArguments(
  template: { readonly name: string; readonly version: string },
  planned: Arguments,
  secrets: ReadonlyMap<string, string>,
): FilledArguments {
  const release = releaseFor(template.name, template.version)
  return filled(planned, (name, value) =>
    fillSecrets(value, secrets, release !== undefined && isJson(release, name)),
  )
}
