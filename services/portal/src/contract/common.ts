import type { Readable } from 'node:stream'
import { Pagination } from '@atrium/kernel/http'
import Type, { type Static, type TSchema } from 'typebox'

/** One of a few words; plain `enum`, which serialises faster than a union of constants. */
export const oneOf = <const V extends readonly string[]>(...values: V) =>
  Type.Unsafe<V[number]>({ type: 'string', enum: values })

/** ISO 8601, UTC, milliseconds, `Z`. */
export const Timestamp = Type.String({ format: 'date-time', examples: ['2026-03-01T12:00:00.000Z'] })

/** Text that must say something. */
export const requiredText = (maxLength: number) => Type.String({ minLength: 1, maxLength, pattern: '\\S' })

/** Text that may be empty, and is by default. */
export const optionalText = (maxLength: number) => Type.Optional(Type.String({ maxLength }))

/** For path parameters whose row lists 400; elsewhere an id of another form is just not found. */
export const Uuid = Type.String({
  pattern: '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$',
})

export const QNumber = Type.String({ minLength: 1, maxLength: 128, pattern: '^[^\\s/]+$' })
export const MailAddress = Type.String({ maxLength: 254, pattern: '^[^\\s@]+@[^\\s@]+$' })
export const Role = oneOf('owner', 'member')

/** Who created or changed a row; of a client or a key, `qxId` is its id. */
export const Actor = Type.Object({ qxId: Type.String(), name: Type.String() })

/** One page of a list. */
export interface Page<Item> {
  readonly data: readonly Item[]
  readonly pagination: Static<typeof Pagination>
}

/** A paged list: an object in the contract; in the handler a page, or a stream of all rows. */
export const listOf = <S extends TSchema>(item: S) =>
  Type.Unsafe<Page<Static<S>> | Readable>(Type.Object({ data: Type.Array(item), pagination: Pagination }))

export const SpaceParams = Type.Object({ spaceId: Type.String() })

export const ErrorBody = Type.Object({
  error: Type.Object({ code: Type.Integer(), message: Type.String() }),
})

/** Responses of a route with a guard: the statuses it names, and those that every such route has. */
export function errors<const S extends number>(...statuses: S[]) {
  return Object.fromEntries([...statuses, 401, 500].map((status) => [status, ErrorBody])) as Record<
    S | 401 | 500,
    typeof ErrorBody
  >
}

/** An optional body: what an absent one reads as. */
export const emptyBody = async (request: { body: unknown }): Promise<void> => {
  request.body ??= {}
}

/** What a route that reads a body answers to one that is malformed or too large. */
export const bodyErrors = { 400: ErrorBody, 413: ErrorBody } as const

export const NoContent = Type.Null({ description: 'Done; no body' })
