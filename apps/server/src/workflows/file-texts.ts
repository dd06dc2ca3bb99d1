import type { FileFault, YamlPath, YamlSource } from './yaml-source.ts'

export type Variables = Readonly<Record<string, string | undefined>>

type Kind = 'argument' | 'configuration'
type IsJson = (name: string) => boolean

const VARIABLE = /(\$\$\{env\.)|\$\{env\.([A-Za-z_][A-Za-z0-9_]*)\}/g

/**
 * Turns what may stand in a file for a text into that text: numbers and truth values as they are written, mappings as JSON
 * where JSON is wanted, `${env.NAME}` as the variable's value.
 */
export class FileTexts {
  readonly faults: FileFault[] = []
  readonly #source: YamlSource
  readonly #variables: Variables

  constructor(source: YamlSource, variables: Variables) {
    this.#source = source
    this.#variables = variables
  }

  /**
   * Arguments or configuration: a mapping whose values become texts; anything else is left for the schema to refuse.
   * @param isJson which of them may be a mapping, which becomes JSON
   */
  convert(values: unknown, path: YamlPath, kind: Kind, isJson: IsJson = () => false): unknown {
    if (!isObject(values)) return values
    return Object.fromEntries(
      Object.entries(values).map(([name, value]) => {
        const at = [...path, name]
        return [
          name,
          isObject(value) && isJson(name) ? this.#json(value, at, kind) : this.#text(value, at, kind),
        ]
      }),
    )
  }

  #json(value: unknown, path: YamlPath, kind: Kind): string {
    return JSON.stringify(value, (_key, inner: unknown) =>
      typeof inner === 'string' ? this.#filled(inner, path, kind) : inner,
    )
  }

  #text(value: unknown, path: YamlPath, kind: Kind): string {
    if (typeof value === 'string') return this.#filled(value, path, kind)
    if (typeof value === 'number' || typeof value === 'boolean')
      return this.#source.writtenAt(path) ?? String(value)
    this.#fault(path, value === null ? 'has no value; write "" for an empty text' : 'must be a text')
    return ''
  }

  #filled(text: string, path: YamlPath, kind: Kind): string {
    return text.replace(VARIABLE, (whole, escaped: string | undefined, name: string) => {
      // Of arguments the platform takes the escape away.
      if (escaped !== undefined) return kind === 'argument' ? whole : '${env.'
      const value = this.#variables[name]
      if (value === undefined) this.#fault(path, `the environment variable ${name} is not set`)
      // What a variable holds is read for no references.
      return kind === 'argument' ? (value ?? '').replaceAll('${', () => '$${') : (value ?? '')
    })
  }

  #fault(path: YamlPath, reason: string): void {
    this.faults.push({ ...this.#source.placeOf(path), message: `${path.join('.')}: ${reason}` })
  }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
