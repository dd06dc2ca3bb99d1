import type { Readable } from 'node:stream'
import { named, Pagination, textLike } from '@atrium/kernel/http'
import Type, { type TSchema } from 'typebox'

/** One of a few words; plain `enum`, which serialises faster than a union of constants. */
export const oneOf = <const V extends readonly string[]>(...values: V) =>
  Type.Unsafe<V[number]>({ type: 'string', enum: values })

/** ISO 8601, UTC, milliseconds, `Z`. */
export const Timestamp = Type.String({ format: 'date-time', examples: ['2026-03-01T12:00:00.000Z'] })

/** What a caller sends: leap seconds are valid by the format, and no `Date`. */
export const Instant = textLike(
  '^.{10}[Tt ][0-9]{2}:[0-9]{2}:[0-5][0-9](\\.[0-9]+)?([Zz]|[+-][0-9]{2}:?[0-9]{2})$',
  'be a date and time with its zone, like 2026-03-01T12:00:00Z',
  { format: 'date-time', maxLength: 40, examples: ['2026-03-01T12:00:00Z'] },
)

/** Text that may be empty, and is by default. */
export const optionalText = (maxLength: number) => Type.Optional(Type.String({ maxLength }))

/** For path parameters whose row lists 400; elsewhere an id of another form is just not found. */
export const Uuid = textLike(
  '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$',
  'be a UUID',
)

export const Role = named('SpaceRole', oneOf('owner', 'member'))

/** Who created or changed a row; of a client or a key, `qxId` is its id. */
export const Actor = named('Actor', Type.Object({ qxId: Type.String(), name: Type.String() }))

/** A paged list: an object in the contract, a stream in the handler. */
export const listOf = <S extends TSchema>(name: string, item: S) =>
  Type.Unsafe<Readable>(named(name, Type.Object({ data: Type.Array(item), pagination: Pagination })))

export const SpaceParams = Type.Object({ spaceId: Type.String() })

export const ErrorBody = named(
  'Error',
  Type.Object({
    error: Type.Object({ code: Type.Integer(), message: Type.String() }),
  }),
)

/** Responses of a route with a guard: the statuses it names, and those that every such route has. */
export function errors<const S extends number>(...statuses: S[]) {
  return Object.fromEntries([...statuses, 401, 500, 503].map((status) => [status, ErrorBody])) as Record<
    S | 401 | 500 | 503,
    typeof ErrorBody
  >
}

/** What a route that reads a body answers to one that is malformed or too large. */
export const bodyErrors = { 400: ErrorBody, 413: ErrorBody } as const

export const NoContent = Type.Null({ description: 'Done; no body' })
