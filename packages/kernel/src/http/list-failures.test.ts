import Type from 'typebox'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLogger } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import { named } from './contract.ts'
import { streamArray } from './list-streams.ts'
import { createHttpServer, type HttpServer } from './server.ts'
import { mountService } from './service.ts'

/** More than a connection takes before anybody reads. */
const LONG_ROW = 'x'.repeat(64 * 1024)

async function* failAfter(batches: number): AsyncGenerator<string[]> {
  for (let nth = 0; nth < batches; nth++) yield [LONG_ROW]
  throw new Error('the connection to the database broke')
}

let app: HttpServer
let url = ''
beforeAll(async () => {
  app = await createHttpServer({
    log: createLogger({ level: 'silent' }),
    metrics: createMetrics({ processMetrics: false }),
    corsOrigins: [],
    bodyLimit: 1024,
    trustedProxies: [],
    https: false,
  })
  await mountService(app, {
    prefix: '/lists',
    title: 'Lists',
    description: 'For this test',
    version: '1.0.0',
    formatError: ({ status }) => ({ oops: status }),
    errorBody: named('Oops', Type.Object({ oops: Type.Integer() })),
    routes: (scope) => {
      scope.get('/v1/rows/:batches', { config: { operationId: 'listRows' } }, (request, reply) => {
        const { batches } = request.params as { batches: string }
        return reply.type('application/json').send(streamArray(failAfter(Number(batches)), (row) => row))
      })
    },
  })
  url = await app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => app.close())

describe('a list whose reading fails', () => {
  it('before the first row is answered as a failure, in the service’s shape', async () => {
    const answer = await fetch(`${url}/lists/v1/rows/0`)
    expect([answer.status, await answer.json()]).toEqual([500, { oops: 500 }])
  })

  it('after the first row is cut off, so that nobody takes it for a whole one', async () => {
    const answer = await fetch(`${url}/lists/v1/rows/3`)
    expect([answer.status, answer.headers.get('content-length')]).toEqual([200, null])
    await expect(answer.text()).rejects.toThrow('terminated')
  })
})
