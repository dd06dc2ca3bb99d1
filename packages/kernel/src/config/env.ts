import type { TSchema } from 'typebox'
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import { OperatorError } from '../errors.ts'

type Kind = 'string' | 'integer' | 'boolean' | 'list'

/** One environment variable: how it is read, what it may be, and the sentence the docs print. */
export interface Variable<T = unknown> {
  readonly kind: Kind
  /** What a set variable must be. */
  readonly schema: TSchema
  readonly about: string
  /** What an unset variable reads as. */
  readonly fallback: T
  /** Secrets are never echoed in an error. */
  readonly secret: boolean
}

export type EnvSchema = Readonly<Record<string, Variable>>

type ValueOf<V> = V extends Variable<infer T> ? T : never
/** What `parseEnv` reads: a variable with a fallback is never undefined. */
export type EnvValues<E extends EnvSchema> = { readonly [K in keyof E]: ValueOf<E[K]> }

/** Declares a variable. Without `fallback` it is optional and reads as `undefined`; a list reads as empty. */
export const variable = {
  string: <F extends string | undefined = undefined>(
    about: string,
    { fallback, pattern, secret = false }: { fallback?: F; pattern?: string; secret?: boolean } = {},
  ) => declare<string, F>('string', textSchema(pattern), about, fallback, secret),
  integer: <F extends number | undefined = undefined>(
    about: string,
    options: { fallback?: F; minimum?: number; maximum?: number } = {},
  ) => {
    const { fallback, minimum = 0, maximum = 2 ** 31 - 1 } = options
    return declare<number, F>('integer', Type.Integer({ minimum, maximum }), about, fallback)
  },
  boolean: <F extends boolean | undefined = undefined>(about: string, { fallback }: { fallback?: F } = {}) =>
    declare<boolean, F>('boolean', Type.Boolean(), about, fallback),
  list: (about: string, { fallback = [], secret = false }: { fallback?: string[]; secret?: boolean } = {}) =>
    declare<string[], string[]>('list', Type.Array(Type.String()), about, fallback, secret),
  choice: <const C extends readonly string[]>(
    about: string,
    choices: C,
    { fallback }: { fallback: C[number] },
  ) =>
    declare<C[number], C[number]>(
      'string',
      Type.Union(choices.map((choice) => Type.Literal(choice))),
      about,
      fallback,
    ),
}

function textSchema(pattern: string | undefined): TSchema {
  return Type.String(pattern === undefined ? { minLength: 1 } : { minLength: 1, pattern })
}

/** `F` is `undefined` exactly where no fallback is passed, so the value that is missing is an `F`. */
function declare<T, F extends T | undefined>(
  kind: Kind,
  schema: TSchema,
  about: string,
  fallback: F | undefined,
  secret = false,
): Variable<T | F> {
  return { kind, schema, about, fallback: fallback as F, secret }
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
    const isSet = text !== undefined && text !== ''
    const value = isSet ? read(spec.kind, text) : spec.fallback
    if (isSet && !Compile(spec.schema).Check(value)) {
      problems.push(`  ${name}${spec.secret ? '' : `=${text}`}: ${expected(spec)}`)
      continue
    }
    values[name] = value
  }
  if (problems.length > 0) {
    throw new OperatorError(`The environment is not valid:\n${problems.join('\n')}`)
  }
  return values as EnvValues<E>
}

function expected(spec: Variable): string {
  const { anyOf, minimum, maximum, pattern } = spec.schema as {
    anyOf?: { const: string }[]
    minimum?: number
    maximum?: number
    pattern?: string
  }
  if (anyOf !== undefined) return `must be one of ${anyOf.map((choice) => choice.const).join(', ')}`
  if (spec.kind === 'integer') return `must be a whole number from ${minimum} to ${maximum}`
  if (spec.kind === 'boolean') return 'must be true or false'
  return pattern === undefined ? 'must be text' : `must match ${pattern}`
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
