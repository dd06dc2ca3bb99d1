// The yardstick: the least that passes a call on with Fastify and undici. No keys, limits, usage or costs.
import Fastify from 'fastify'
import { Pool } from 'undici'

const [port = '0', upstream = ''] = process.argv.slice(2)
const pool = new Pool(upstream, { connections: 2048 })
const app = Fastify()

app.removeAllContentTypeParsers()
app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
  done(null, body),
)

app.post('/v1/chat/completions', async (request, reply) => {
  const answer = await pool.request({
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json', authorization: 'Bearer sk-operator' },
    body: request.body as Buffer,
  })
  reply.code(answer.statusCode)
  for (const [name, value] of Object.entries(answer.headers)) {
    if (name !== 'connection' && name !== 'keep-alive' && name !== 'transfer-encoding')
      reply.header(name, value)
  }
  return reply.send(answer.body)
})

await app.listen({ port: Number(port), host: '127.0.0.1' })
process.send?.('ready')
