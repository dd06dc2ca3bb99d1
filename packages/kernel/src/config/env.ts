import type { Static, TSchema } from 'typebox'
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import { OperatorError } from '../errors.ts'

type Kind = 'string' | 'integer' | 'boolean' | 'list'

/** One environment variable: how it is read, what it may be, and the sentence the docs print. */
export interface Variable<S extends TSchema = TSchema> {
  readonly kind: Kind
  readonly schema: S
  readonly about: string
  readonly fallback: Static<S> | undefined
  /** Secrets are never echoed in an error. */
  readonly secret: boolean
}

export type EnvSchema = Readonly<Record<string, Variable>>

type ValueOf<V> = V extends Variable<infer S> ? Static<S> : never
export type EnvValues<E extends EnvSchema> = { readonly [K in keyof E]: ValueOf<E[K]> }

/** Declares a variable. Without `fallback` it is optional and reads as `undefined`. */
export const variable = {
  string: (about: string, options: { fallback?: string; pattern?: string; secret?: boolean } = {}) =>
    declare('string', stringSchema(options.pattern), about, options),
  integer: (about: string, options: { fallback?: number; minimum?: number; maximum?: number } = {}) =>
    declare(
      'integer',
      Type.Union([
        Type.Integer({ minimum: options.minimum ?? 0, maximum: options.maximum ?? 2 ** 31 - 1 }),
        Type.Undefined(),
      ]),
      about,
      options,
    ),
  boolean: (about: string, options: { fallback?: boolean } = {}) =>
    declare('boolean', Type.Union([Type.Boolean(), Type.Undefined()]), about, options),
  list: (about: string, options: { fallback?: string[] } = {}) =>
    declare('list', Type.Array(Type.String()), about, { fallback: options.fallback ?? [] }),
  choice: <const C extends readonly string[]>(about: string, choices: C, options: { fallback: C[number] }) =>
    declare(
      'string',
      Type.Unsafe<C[number]>(Type.Union(choices.map((choice) => Type.Literal(choice)))),
      about,
      options,
    ),
}

function stringSchema(pattern: string | undefined) {
  return Type.Union([
    Type.String(pattern === undefined ? { minLength: 1 } : { minLength: 1, pattern }),
    Type.Undefined(),
  ])
}

function declare<S extends TSchema>(
  kind: Kind,
  schema: S,
  about: string,
  options: { fallback?: unknown; secret?: boolean },
): Variable<S> {
  return {
    kind,
    schema,
    about,
    fallback: options.fallback as Static<S> | undefined,
    secret: options.secret ?? false,
  }
}

function read(kind: Kind, text: string): unknown {
  if (kind === 'integer') return /^-?\d+$/.test(text) ? Number(text) : text
  if (kind === 'boolean')
    return text === 'true' || text === '1' ? true : text === 'false' || text === '0' ? false : text
  if (kind === 'list')
    return text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
  return text
}

/**
 * Reads the variables that `schema` names from `env`. An empty variable counts as unset.
 * @throws OperatorError that lists every variable that is wrong, with the reason
 */
export function parseEnv<E extends EnvSchema>(
  schema: E,
  env: Readonly<Record<string, string | undefined>>,
): EnvValues<E> {
  const values: Record<string, unknown> = {}
  const problems: string[] = []
  for (const [name, spec] of Object.entries(schema)) {
    const text = env[name]
    const value = text === undefined || text === '' ? spec.fallback : read(spec.kind, text)
    const validator = Compile(spec.schema)
    if (validator.Check(value)) {
      values[name] = value
      continue
    }
    problems.push(`  ${name}${spec.secret ? '' : `=${text}`}: ${expected(spec)}`)
  }
  if (problems.length > 0) {
    throw new OperatorError(`The environment is not valid:\n${problems.join('\n')}`)
  }
  return values as EnvValues<E>
}

function expected(spec: Variable): string {
  const schema = spec.schema as {
    anyOf?: { const?: unknown; minimum?: number; maximum?: number; pattern?: string }[]
  }
  const options = schema.anyOf ?? []
  const constants = options.flatMap((option) => (option.const === undefined ? [] : [String(option.const)]))
  if (constants.length > 0) return `must be one of ${constants.join(', ')}`
  if (spec.kind === 'integer')
    return `must be a whole number from ${options[0]?.minimum} to ${options[0]?.maximum}`
  if (spec.kind === 'boolean') return 'must be true or false'
  return options[0]?.pattern === undefined ? 'must be text' : `must match ${options[0].pattern}`
}

/** Rows for the documentation table, in the order of the schema. */
export function envDocs(schema: EnvSchema): { name: string; fallback: string; about: string }[] {
  return Object.entries(schema).map(([name, spec]) => ({
    name,
    fallback:
      spec.fallback === undefined
        ? ''
        : Array.isArray(spec.fallback)
          ? spec.fallback.join(',')
          : String(spec.fallback),
    about: spec.about,
  }))
}
