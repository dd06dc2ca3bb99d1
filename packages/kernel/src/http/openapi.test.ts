import Type, { type TSchema } from 'typebox'
import { describe, expect, it } from 'vitest'
import { createLogger } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import { jsonText, named, optionalBody, wholeOrEvents, withEtag } from './contract.ts'
import { createHttpServer } from './server.ts'
import { mountService, type ServiceScope } from './service.ts'

const Failure = named('Error', Type.Object({ message: Type.String() }))
const Colour = named('Colour', Type.Unsafe<string>({ type: 'string', enum: ['red', 'blue'] }))
const Thing = named(
  'Thing',
  Type.Object({ name: Type.String(), colour: Colour, other: Type.Optional(Colour) }),
)

async function documentOf(routes: (scope: ServiceScope) => void) {
  const app = await createHttpServer({
    log: createLogger({ level: 'silent' }),
    metrics: createMetrics({ processMetrics: false }),
    corsOrigins: [],
    bodyLimit: 2048,
    trustedProxies: [],
    https: false,
  })
  await mountService(app, {
    prefix: '/things',
    title: 'Things',
    description: 'For this test',
    version: '1.0.0',
    formatError: ({ message }) => ({ message }),
    errorBody: Failure,
    routes,
  })
  const answer = await app.inject('/things/openapi.json')
  const lower = await app.inject('/things/openapi-3.1.json')
  await app.close()
  return { status: answer.statusCode, body: answer.json(), lower: lower.json() }
}

const get = (scope: ServiceScope, operationId: string, response: Record<number, TSchema>, isPublic = false) =>
  scope.route({
    method: 'GET',
    url: `/v1/${operationId}`,
    config: { operationId, public: isPublic },
    schema: { response },
    handler: async () => ({}),
  })

describe('the OpenAPI document of a service', () => {
  it('describes every named schema once and refers to it', async () => {
    const { body } = await documentOf((scope) => {
      get(scope, 'getThing', { 200: withEtag(Thing) })
      get(scope, 'listThings', { 200: named('ThingPage', Type.Object({ data: Type.Array(Thing) })) })
    })
    expect(Object.keys(body.components.schemas)).toEqual(['Colour', 'Error', 'Thing', 'ThingPage'])
    expect(body.components.schemas.Thing.properties.colour).toEqual({ $ref: '#/components/schemas/Colour' })
    expect(body.components.schemas.ThingPage.properties.data.items.$ref).toBe('#/components/schemas/Thing')
    const answer = body.paths['/v1/getThing'].get.responses['200']
    expect(answer.content['application/json'].schema).toEqual({ $ref: '#/components/schemas/Thing' })
    expect([Object.keys(answer.headers), answer.description]).toEqual([
      expect.arrayContaining(['ETag']),
      'Success: `Thing`',
    ])
  })

  it('refuses a name that stands for two schemas', async () => {
    const { status } = await documentOf((scope) => {
      get(scope, 'one', { 200: Thing })
      get(scope, 'other', { 200: named('Thing', Type.Object({})) })
    })
    expect(status).toBe(500)
  })

  it('adds the answers that every operation may give, described once', async () => {
    const { body } = await documentOf((scope) => {
      get(scope, 'guarded', { 200: Thing, 404: Failure })
      get(scope, 'open', { 200: Thing }, true)
    })
    const { guarded, open } = { guarded: body.paths['/v1/guarded'].get, open: body.paths['/v1/open'].get }
    expect(guarded.responses['503']).toEqual({ $ref: '#/components/responses/ServiceUnavailable' })
    expect(Object.keys(guarded.responses)).toEqual(['200', '404', '429', '500', '503'])
    expect(Object.keys(open.responses)).toEqual(['200', '500'])
    const { NotFound, ServiceUnavailable, TooManyRequests } = body.components.responses
    expect(NotFound).toMatchObject({ description: 'There is no such resource' })
    expect(ServiceUnavailable).toMatchObject({ headers: { 'Retry-After': {} } })
    const left = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']
    expect(Object.keys(body.components.headers)).toEqual(left)
    expect(Object.keys(TooManyRequests.headers)).toEqual(['Retry-After', ...left])
    expect(Object.keys(guarded.responses['200'].headers)).toEqual(left)
    expect(open.responses['200'].headers).toBeUndefined()
    expect(TooManyRequests.content['application/json'].schema.$ref).toBe('#/components/schemas/Error')
  })

  it('describes what a stream of events holds, and to generators of 3.1 a text', async () => {
    const event = named('ThingEvent', Type.Object({ data: jsonText(Thing) }))
    const { body, lower } = await documentOf((scope) =>
      scope.route({
        method: 'GET',
        url: '/v1/thing',
        config: { operationId: 'getThing' },
        schema: { response: { 200: wholeOrEvents('Whole or in parts', Thing, event) } },
        handler: async () => ({}),
      }),
    )
    const contentIn = (document: typeof body) => document.paths['/v1/thing'].get.responses['200'].content
    const whole = { schema: { $ref: '#/components/schemas/Thing' } }
    expect(contentIn(body)).toEqual({
      'application/json': whole,
      'text/event-stream': { itemSchema: { $ref: '#/components/schemas/ThingEvent' } },
    })
    expect(body.components.schemas.ThingEvent.properties.data).toEqual({
      type: 'string',
      contentMediaType: 'application/json',
      contentSchema: { $ref: '#/components/schemas/Thing' },
    })
    expect(contentIn(lower)).toEqual({
      'application/json': whole,
      'text/event-stream': {
        schema: { type: 'string', description: 'Server-sent events, each a `ThingEvent`' },
      },
    })
  })

  it('says which bodies may be absent, and where If-Match counts', async () => {
    const { body } = await documentOf((scope) => {
      scope.route({
        method: 'PATCH',
        url: '/v1/thing',
        config: { operationId: 'updateThing' },
        schema: { body: optionalBody(Thing), response: { 200: Thing, 412: Failure } },
        handler: async () => ({ name: 'a', colour: 'red' }),
      })
      scope.route({
        method: 'POST',
        url: '/v1/thing',
        config: { operationId: 'createThing' },
        schema: { body: Thing, response: { 200: Thing } },
        handler: async () => ({ name: 'a', colour: 'red' }),
      })
    })
    const { patch, post } = body.paths['/v1/thing']
    expect([patch.requestBody.required, post.requestBody.required]).toEqual([false, true])
    const schema = { $ref: '#/components/schemas/Thing' }
    expect(patch.requestBody.content['application/json'].schema).toEqual({
      anyOf: [schema, { type: 'null' }],
    })
    expect(post.requestBody.content['application/json'].schema).toEqual(schema)
    expect(patch.parameters).toEqual([{ $ref: '#/components/parameters/IfMatch' }])
    expect(post.parameters).toBeUndefined()
    expect(JSON.stringify(body)).not.toContain('x-optional-body')
  })
})
