import type { Readable } from 'node:stream'
import { named, type Pagination, PartQuery } from '@atrium/kernel/http'
import Type, { type Static, type TSchema } from 'typebox'

/** One of a few words; plain `enum`, which serialises faster than a union of constants. */
export const oneOf = <const V extends readonly string[]>(...values: V) =>
  Type.Unsafe<V[number]>({ type: 'string', enum: values })

/** ISO 8601 with milliseconds and offset. */
export const Timestamp = Type.String({ format: 'date-time', examples: ['2026-03-01T12:00:00.000+00:00'] })

export type JsonObject = Record<string, unknown>

/** Any JSON object, kept as it was given. */
export const AnyObject = named(
  'JsonObject',
  Type.Unsafe<JsonObject>({ type: 'object', additionalProperties: true }),
)

/** Who made or changed something, as the client says. */
export const Author = named(
  'Author',
  Type.Object({
    qxId: Type.String({ minLength: 1, maxLength: 256 }),
    name: Type.String({ minLength: 1, maxLength: 256 }),
  }),
)

export const SpaceParams = Type.Object({ spaceId: Type.String() })

export const ErrorBody = named(
  'Error',
  Type.Object({
    error: Type.Literal(true),
    message: Type.String(),
    code: Type.String({ description: 'Stable name of the failure', examples: ['AGENT_NOT_FOUND'] }),
  }),
)

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

/** Every list comes whole, or a page at a time. */
export const ListQuery = PartQuery

/** Body of a QUERY: items whose metadata has all of these values. */
export const MetadataQuery = named(
  'MetadataQuery',
  Type.Object({
    metadata: Type.Optional(
      Type.Unsafe<JsonObject>({
        type: 'object',
        // Operators would find nothing, in silence.
        additionalProperties: {
          propertyNames: {
            pattern: '^[^$]|^$',
            'x-must': 'be left out: values are compared as they are, and there are no operators',
          },
        },
        maxProperties: 64,
        description:
          'All keys must match: a scalar exactly, an array by any of its values. Nested keys by dotted path.',
        examples: [{ team: 'search', 'ticket.priority': [1, 2] }],
      }),
    ),
  }),
)

/** One page of a list. */
export interface Page<Item> {
  readonly data: readonly Item[]
  readonly pagination: Static<typeof Pagination>
}

/** Response schema of a list that is streamed: an array in the contract, a stream in the handler. */
export const streamed = <S extends TSchema>(items: S) => Type.Unsafe<Readable>(Type.Array(items))

export type Author = Static<typeof Author>
export type ErrorBody = Static<typeof ErrorBody>
export type ListQuery = Static<typeof ListQuery>
export type MetadataQuery = Static<typeof MetadataQuery>
