import type { Readable } from 'node:stream'
import { named, PartQuery, textLike } from '@atrium/kernel/http'
import Type, { type Static, type TSchema } from 'typebox'

/** One of a few words; plain `enum`, which serialises faster than a union of constants. */
export const oneOf = <const V extends readonly string[]>(...values: V) =>
  Type.Unsafe<V[number]>({ type: 'string', enum: values })

/** ISO 8601, UTC, milliseconds, `Z`. */
export const Timestamp = Type.String({ format: 'date-time', examples: ['2026-03-01T12:00:00.000Z'] })

/** What an identifier that a client chooses looks like. */
export const IDENTIFIER = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/

/** An identifier that a client chooses: lower case, digits and hyphens within, at most 63 characters. */
export const Identifier = textLike(
  '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$',
  'be 1 to 63 lower-case letters, digits and hyphens, with no hyphen at either end',
)

export const STAGES = ['test', 'int', 'e2e', 'prod'] as const
export const Stage = named('Stage', oneOf(...STAGES))
export type Stage = Static<typeof Stage>

export const SpaceParams = Type.Object({ spaceId: Type.String() })
export const WorkflowParams = Type.Object({ spaceId: Type.String(), workflowId: Type.String() })

export const ErrorBody = named(
  'Error',
  Type.Object({
    detail: Type.Union([
      Type.String(),
      Type.Array(named('UnresolvedReference', Type.Object({ msg: Type.String() })), {
        description: 'References that nothing resolves, with 422',
      }),
    ]),
  }),
)
export type ErrorBody = Static<typeof ErrorBody>

/** Responses of a route with a guard: the statuses it names, and those that every such route has. */
export function errors<const S extends number>(...statuses: S[]) {
  return Object.fromEntries([...statuses, 401, 500, 503].map((status) => [status, ErrorBody])) as Record<
    S | 401 | 500 | 503,
    typeof ErrorBody
  >
}

/** Responses of a route inside a space that reads no body. */
export const spaceErrors = errors(403, 404)

/** What a route that reads a body answers beside these to one that is malformed or too large. */
export const bodyErrors = { 400: ErrorBody, 413: ErrorBody } as const

export const NoContent = Type.Null({ description: 'Done; no body' })

/** Lists that are not paged come whole, or the part that is asked for. */
export const ListQuery = PartQuery
export type ListQuery = Static<typeof ListQuery>

/** A list in the order of creation: an object in the contract, a stream in the handler. */
export const listOf = <S extends TSchema>(name: string, item: S) =>
  Type.Unsafe<Readable>(named(name, Type.Object({ items: Type.Array(item), totalCount: Type.Integer() })))

/** Query of a list that is paged by tokens. */
export const PagedQuery = Type.Object({
  pageSize: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  pageToken: Type.Optional(
    Type.String({ maxLength: 1000, description: '`nextPageToken` of the page before; empty for the first' }),
  ),
})
export type PagedQuery = Static<typeof PagedQuery>
