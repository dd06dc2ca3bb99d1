import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { hello, startWithFake } from './platform.ts'

const ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-4o',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})

/** A server that breaks a connection instead of answering, where `breaks` says so of its nth request. */
async function startBreaking(how: 'destroy' | 'resetAndDestroy', breaks: (nth: number) => boolean) {
  const served = new WeakMap<Socket, number>()
  const state = { chats: 0 }
  const server = createServer((request, response) => {
    if (request.url !== '/v1/chat/completions') {
      response.writeHead(404).end('{}')
      return
    }
    state.chats += 1
    const nth = (served.get(request.socket) ?? 0) + 1
    served.set(request.socket, nth)
    if (breaks(nth)) request.socket[how]()
    else response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    state,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

describe.each(['destroy', 'resetAndDestroy'] as const)('a server that ends connections (%s)', (how) => {
  test('after one answer each is asked again, once', async () => {
    await using server = await startBreaking(how, (nth) => nth > 1)
    await using gateway = await startWithFake({ env: { OPENAI_BASE_URL: server.url } })
    for (let i = 0; i < 5; i++) expect((await gateway.chat(hello)).status).toBe(200)
    // Connections that are kept are tried, and broke; each call is repeated at most once.
    expect(server.state.chats).toBeGreaterThan(5)
    expect(server.state.chats).toBeLessThanOrEqual(10)
    expect((await gateway.usage(5))[0]?.requests).toBe(5)
  })
})

test('a request that breaks on a new connection is not repeated', async () => {
  await using server = await startBreaking('destroy', () => true)
  await using gateway = await startWithFake({ env: { OPENAI_BASE_URL: server.url } })
  const answer = await gateway.chat(hello)
  expect([answer.status, answer.body.error.code]).toEqual([502, 'backend_unreachable'])
  expect(server.state.chats).toBe(1)
})
