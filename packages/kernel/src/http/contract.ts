import type { Readable } from 'node:stream'
import type { FastifyRequest, RouteOptions } from 'fastify'
import Type, { type TSchema, type TStringOptions, type TUnsafe } from 'typebox'

/** A copy of a schema with one more annotation; TypeBox's own marks stay. */
const annotated = <S extends TSchema>(schema: S, annotation: object): S =>
  Object.assign(Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema)), annotation) as S

/**
 * Gives a schema its name: OpenAPI describes it once, below `components.schemas`, and generated clients call it so.
 * A name stands for one schema in a service; two of them fail at the start.
 */
export const named = <S extends TSchema>(name: string, schema: S): S => annotated(schema, { title: name })

/** What the reference says of an answer, where its status and the name of its schema do not say it all. */
export const described = <S extends TSchema>(description: string, schema: S): S =>
  annotated(schema, { 'x-response-description': description })

/** Text of a form; `must` says in words what the pattern asks for: `be a UUID`. Shown to whoever sends another. */
export const textLike = (pattern: string, must: string, options: TStringOptions = {}) =>
  Type.String({ ...options, pattern, 'x-must': must })

/**
 * White space and control characters, for use inside the brackets of a pattern. Written out, for JavaScript, Python and
 * Rust disagree about what `\s` is, and not all of them know `\p{Cc}`.
 */
export const BLANKS = '\\s\\x00-\\x1f\\x7f-\\x9f\\ufeff'

/** Text that must say something. */
export const requiredText = (maxLength: number) =>
  textLike(`[^${BLANKS}]`, 'not be blank', { minLength: 1, maxLength })

/** An answer that carries the version of what it shows, for use in `If-Match`. */
export const withEtag = <S extends TSchema>(schema: S): S =>
  annotated(schema, {
    headers: { ETag: { type: 'string', description: 'The version of the resource, for `If-Match`' } },
  })

/** Text that holds JSON, which the reference describes; validators read it as text. */
export const jsonText = (schema: TSchema) =>
  Type.String({ contentMediaType: 'application/json', contentSchema: schema })

/** An answer that comes whole, as JSON, or as server-sent events, each of which `event` describes (its `data`). */
export const wholeOrEvents = (description: string, whole: TSchema, event: TSchema) => ({
  description,
  content: {
    'application/json': { schema: whole },
    'text/event-stream': { schema: Type.String(), itemSchema: event },
  },
})

/** An answer that comes as server-sent events, each of which `event` describes. */
export const serverSentEvents = (description: string, event: TSchema) =>
  ({
    description,
    content: { 'text/event-stream': { schema: Type.String(), itemSchema: event } },
    // Fastify knows the form by media types, and its types do not.
  }) as unknown as TUnsafe<Readable>

const OPTIONAL_BODY = 'x-optional-body'

/** A body that may be absent or null, and then reads as `{}`. */
export const optionalBody = <S extends TSchema>(schema: S): S => annotated(schema, { [OPTIONAL_BODY]: true })

/** Whether a schema is that of a body that may be absent. */
export const isOptionalBody = (schema: unknown): boolean =>
  typeof schema === 'object' && schema !== null && OPTIONAL_BODY in schema

/** `onRoute` hook that makes optional bodies readable. */
export function fillAbsentBodies(route: RouteOptions): void {
  if (!isOptionalBody(route.schema?.body)) return
  const others = route.preValidation ?? []
  route.preValidation = [fillAbsentBody, ...(Array.isArray(others) ? others : [others])]
}

async function fillAbsentBody(request: FastifyRequest): Promise<void> {
  request.body ??= {}
}
