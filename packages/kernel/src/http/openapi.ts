import { STATUS_CODES } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import { isOptionalBody } from './contract.ts'

type Json = Record<string, unknown>

interface Media {
  schema?: Json
  /** Of each event of a stream (OpenAPI 3.2). */
  itemSchema?: Json
}

interface Response {
  description: string
  headers?: Json
  content?: Record<string, Media>
}

interface Parameter {
  readonly name: string
  required?: boolean
  schema?: Json
}

interface Operation {
  parameters?: unknown[]
  requestBody?: { required?: boolean; content?: Record<string, Media> }
  responses: Record<string, Response | { $ref: string }>
}

/** As the generator hands it over: schemas stand where they are used. */
export interface OpenApiDocument {
  paths?: Record<string, Record<string, Operation>>
  components?: Record<string, Json>
}

/** What a status means, where a route says nothing more exact. */
const MEANINGS: Readonly<Record<string, string>> = {
  200: 'Success',
  201: 'Created',
  204: 'Done; no body',
  303: 'Go on at the address in `Location`',
  304: '`If-None-Match` names what there is; no body',
  400: 'The request is malformed, or a value in it is not valid; the message names each',
  401: 'No credential, or none that is valid here',
  403: 'Not open to this caller',
  404: 'There is no such resource',
  409: 'In conflict with the present state of the resource',
  410: 'It was good once, and has ended',
  412: '`If-Match` does not name the current version',
  413: 'The body is too large',
  414: 'A part of the path is too long',
  422: 'A field has the wrong type, or a value out of its range',
  429: 'Too many requests: try again after `Retry-After` seconds',
  500: 'Internal error; the message quotes the id of the request',
  502: 'The backend failed, or could not be reached',
  503: 'Not available at the moment: try again after `Retry-After` seconds',
  504: 'The backend did not answer in time',
}

const seconds = (description: string) => ({ schema: { type: 'integer', minimum: 0 }, description })
const RETRY_AFTER = { 'Retry-After': seconds('Seconds to wait before the next try') }

const RATE_LIMIT: Json = {
  'RateLimit-Limit': { schema: { type: 'integer' }, description: 'Requests in a minute' },
  'RateLimit-Remaining': { schema: { type: 'integer' }, description: 'Requests that are left' },
  'RateLimit-Reset': seconds('Seconds until all are there again; where none is left, until the next'),
}
/** What operations that may refuse with 429 tell beforehand, where the operator set a limit. */
const LEFT: Json = Object.fromEntries(
  Object.keys(RATE_LIMIT).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
)

/** Headers that come with a status, whichever operation answers it. */
const HEADERS: Readonly<Record<string, Json>> = {
  303: { Location: { schema: { type: 'string' }, description: 'Where to go on' } },
  401: {
    'WWW-Authenticate': {
      schema: { type: 'string' },
      description: 'How to authenticate (RFC 6750, RFC 7617)',
    },
  },
  429: {
    ...RETRY_AFTER,
    ...LEFT,
  },
  503: RETRY_AFTER,
}

const DEFAULT = 'Default Response'
const ONE = [
  'items',
  'contentSchema',
  'additionalProperties',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
]
const LIST = ['anyOf', 'oneOf', 'allOf', 'prefixItems']
const MAP = ['properties', 'patternProperties', '$defs']

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Without what says nothing about the values: the generator drops it from parameters. */
const bare = ({ description: _, example: _one, examples: _some, ...schema }: Json): Json => schema

/** What a caller may leave out is not required of them: it is filled in. */
function withDefaults(schema: Json): Json {
  const { required, properties } = schema
  if (!Array.isArray(required) || !isObject(properties)) return schema
  const isFilled = (name: string): boolean => isObject(properties[name]) && 'default' in properties[name]
  return { ...schema, required: required.filter((name) => !isFilled(name)) }
}

/** Named schemas, each of which is described once. */
class Schemas {
  readonly known: Record<string, Json> = {}

  /** The schema with every named one in it replaced by a reference. @throws Error when a name stands for two schemas */
  hoist(schema: Json, isSent = false): Json {
    const { 'x-optional-body': _, 'x-response-description': _description, ...own } = schema
    const inner: Json = Object.fromEntries(
      Object.entries(isSent ? withDefaults(own) : own).map(([key, value]) => [
        key,
        this.#inside(key, value, isSent),
      ]),
    )
    const { title } = schema
    if (typeof title !== 'string') return inner
    const before = this.known[title]
    if (before !== undefined && !isDeepStrictEqual(bare(before), bare(inner))) {
      throw new Error(
        `Two different schemas are named ${title}:\n${JSON.stringify(before)}\n${JSON.stringify(inner)}`,
      )
    }
    this.known[title] = before ?? inner
    return { $ref: `#/components/schemas/${title}` }
  }

  #inside(key: string, value: unknown, isSent: boolean): unknown {
    if (ONE.includes(key) && isObject(value)) return this.hoist(value, isSent)
    if (LIST.includes(key) && Array.isArray(value)) return value.map((one) => this.hoist(one as Json, isSent))
    if (MAP.includes(key) && isObject(value)) {
      return Object.fromEntries(
        Object.entries(value).map(([name, one]) => [name, this.hoist(one as Json, isSent)]),
      )
    }
    return value
  }
}

/** The words for an answer that nobody described. */
function describeAnswer(status: string, { content }: Response): string {
  const meaning = MEANINGS[status] ?? STATUS_CODES[status] ?? `Status ${status}`
  const schema = content?.['application/json']?.schema
  if (schema === undefined || Number(status) >= 300) return meaning
  const items = isObject(schema.items) ? schema.items.title : undefined
  if (typeof schema.title === 'string') return `${meaning}: \`${schema.title}\``
  return typeof items === 'string' ? `${meaning}: an array of \`${items}\`` : meaning
}

/** `Bad Request` → `BadRequest`. */
const nameOf = (status: string): string =>
  (STATUS_CODES[status] ?? `Status${status}`).replace(/[^A-Za-z]/g, '')

/**
 * Finishes the document of a service: schemas, answers and parameters that have a name stand once, below `components`;
 * every answer is described in words, with its headers; bodies that may be absent are not required.
 */
export function finishDocument<D extends OpenApiDocument>(document: D): D {
  const schemas = new Schemas()
  const answers: Record<string, Json> = {}
  for (const operations of Object.values(document.paths ?? {})) {
    for (const operation of Object.values(operations)) {
      const { requestBody } = operation
      for (const media of Object.values(requestBody?.content ?? {})) {
        if (media.schema === undefined) continue
        const mayBeAbsent = isOptionalBody(media.schema)
        const schema = schemas.hoist(media.schema, true)
        if (mayBeAbsent && requestBody !== undefined) requestBody.required = false
        media.schema = mayBeAbsent ? { anyOf: [schema, { type: 'null' }] } : schema
      }
      for (const [status, response] of Object.entries(operation.responses)) {
        if ('$ref' in response) continue
        if (Number(status) < 400 && operation.responses['429'] !== undefined)
          response.headers = { ...response.headers, ...LEFT }
        operation.responses[status] = shared(finishAnswer(status, response, schemas), status, answers)
      }
    }
  }
  // Last, for a schema loses its description in a parameter.
  for (const operation of Object.values(document.paths ?? {}).flatMap((one) => Object.values(one))) {
    for (const parameter of (operation.parameters ?? []) as Parameter[]) {
      if (parameter.schema === undefined) continue
      if ('default' in parameter.schema) parameter.required = false
      parameter.schema = schemas.hoist(parameter.schema)
    }
    if (operation.responses['412'] !== undefined) {
      operation.parameters = [...(operation.parameters ?? []), { $ref: '#/components/parameters/IfMatch' }]
    }
  }
  document.components = {
    ...document.components,
    schemas: sorted({ ...document.components?.schemas, ...schemas.known }),
    responses: sorted(answers),
    parameters: { IfMatch: IF_MATCH },
    headers: RATE_LIMIT,
  }
  return document
}

const IF_MATCH = {
  name: 'If-Match',
  in: 'header',
  required: false,
  schema: { type: 'string', examples: ['"3"'] },
  description: 'Makes the change only while the resource is in one of these versions (its `ETag`)',
}

const sorted = (named: Json): Json =>
  Object.fromEntries(Object.entries(named).sort(([a], [b]) => (a < b ? -1 : 1)))

function finishAnswer(status: string, response: Response, schemas: Schemas): Response {
  const description =
    response.description === DEFAULT ? describeAnswer(status, response) : response.description
  const headers = { ...HEADERS[status], ...response.headers }
  const content = Object.entries(response.content ?? {}).map(([type, { schema, itemSchema }]) => [
    type,
    {
      // Of a stream `schema` would be that of all its items.
      ...(schema === undefined || itemSchema !== undefined ? {} : { schema: schemas.hoist(schema) }),
      ...(itemSchema === undefined ? {} : { itemSchema: schemas.hoist(itemSchema) }),
    },
  ])
  return {
    description,
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(content.length === 0 ? {} : { content: Object.fromEntries(content) }),
  }
}

/** Failures without words of their own are described once for the whole service. */
function shared(
  response: Response,
  status: string,
  answers: Record<string, Json>,
): Response | { $ref: string } {
  if (Number(status) < 400 || response.description !== MEANINGS[status]) return response
  const name = nameOf(status)
  answers[name] ??= { ...response }
  return isDeepStrictEqual(answers[name], response) ? { $ref: `#/components/responses/${name}` } : response
}

/** OpenAPI 3.1 knows a stream as one text. */
function withoutItems(operation: Operation): Operation {
  const textOf = (media: Media): Media => {
    const { itemSchema, ...others } = media
    if (itemSchema === undefined) return media
    const name = String(itemSchema.$ref).split('/').at(-1)
    return { ...others, schema: { type: 'string', description: `Server-sent events, each a \`${name}\`` } }
  }
  const responses = Object.entries(operation.responses).map(([status, response]) => {
    if ('$ref' in response || response.content === undefined) return [status, response]
    const content = Object.entries(response.content).map(([type, media]) => [type, textOf(media)])
    return [status, { ...response, content: Object.fromEntries(content) }]
  })
  return { ...operation, responses: Object.fromEntries(responses) }
}

/**
 * The document for generators that know OpenAPI 3.1 at most, which cannot say everything: QUERY stands as `x-query`,
 * and a stream of events as a text.
 */
export function lowered(document: object): object {
  const paths = Object.entries((document as OpenApiDocument).paths ?? {}).map(([path, operations]) => {
    const known = Object.entries(operations).map(([method, operation]) => [
      method === 'query' ? 'x-query' : method,
      withoutItems(operation),
    ])
    return [path, Object.fromEntries(known)]
  })
  return { ...document, openapi: '3.1.1', paths: Object.fromEntries(paths) }
}
