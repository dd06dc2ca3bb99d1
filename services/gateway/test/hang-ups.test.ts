import { freePort, startTestPlatform } from '@atrium/testing'
import { expect, test } from 'vitest'
import { hello, startWithFake, waitForUsage } from './platform.ts'

type Gateway = Awaited<ReturnType<typeof startWithFake>>

/** Sends a plain chat and hangs up once the backend has it. */
async function hangUp(gateway: Pick<Gateway, 'fake' | 'raw'>, body: object = hello): Promise<void> {
  const stop = new AbortController()
  const before = gateway.fake.requests.length
  const call = gateway.raw(JSON.stringify(body), stop.signal).catch(() => 'aborted')
  await expect.poll(() => gateway.fake.requests.length, { timeout: 10_000 }).toBe(before + 1)
  stop.abort()
  expect(await call).toBe('aborted')
}

test('a caller who hangs up a plain call pays for what the backend bills', async () => {
  await using gateway = await startWithFake()
  const usage = { prompt_tokens: 1000, completion_tokens: 4000, total_tokens: 5000 }
  gateway.fake.next({ delayMs: 500, usage })
  await hangUp(gateway)
  const [charged] = await gateway.usage(1)
  expect(charged).toMatchObject({ requests: 1, promptTokens: 1000, completionTokens: 4000 })
  expect(Number(charged?.amount)).toBe(0.0425)
  expect(gateway.fake.requests[0]?.aborted).toBe(false)
})

test('a failed answer that nobody waits for costs nothing and is not asked for again', async () => {
  await using gateway = await startWithFake()
  gateway.fake.next({ delayMs: 300, status: 500 })
  await hangUp(gateway)
  expect((await gateway.chat(hello)).status).toBe(200)
  await expect.poll(() => gateway.fake.requests.length, { timeout: 10_000 }).toBe(2)
  expect((await gateway.usage(1))[0]?.requests).toBe(1)
})

test('what the backend would have billed after the gateway closed is an estimate of the whole', async () => {
  await using gateway = await startWithFake()
  const two = await startTestPlatform({
    env: {
      DATABASE_URL: gateway.platform.databaseUrl,
      OPENAI_BASE_URL: gateway.fake.url,
      OPENAI_API_KEY: 'sk-any',
    },
  })
  const raw = (body: string | Buffer, signal?: AbortSignal) =>
    fetch(`${two.url}/llm/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.space.apiKey}`, 'content-type': 'application/json' },
      body: String(body),
      ...(signal === undefined ? {} : { signal }),
    })
  gateway.fake.next({ hang: true }, { hang: true })
  await hangUp({ fake: gateway.fake, raw }, { ...hello, max_tokens: 70, n: 2 })
  await hangUp({ fake: gateway.fake, raw })
  await two.close()
  const [charged] = await waitForUsage(gateway.platform.pool, gateway.space.spaceId, 2)
  expect(charged).toMatchObject({ requests: 2, completionTokens: 140 + 1000 })
  expect(charged?.promptTokens).toBeGreaterThan(10)
})

test('where nobody bills, a caller who hangs up stops the server', async () => {
  await using gateway = await startWithFake({ isFound: true, fake: { models: ['llama-4'] } })
  gateway.fake.next({ hang: true })
  await hangUp(gateway, { ...hello, model: 'llama-4' })
  await expect.poll(() => gateway.fake.requests[0]?.aborted, { timeout: 10_000 }).toBe(true)
})

test('a hang-up is no error of the backend, and leaves no stack in the log', async () => {
  const logLines: string[] = []
  const port = await freePort()
  await using gateway = await startWithFake({
    isFound: true,
    fake: { models: ['llama-4'], behaviour: { intervalMs: 50 } },
    env: { ATRIUM_METRICS_PORT: String(port) },
    logLines,
  })
  const chat = { ...hello, model: 'llama-4' }
  gateway.fake.next({ hang: true }, { hang: true })
  await hangUp(gateway, chat)
  await hangUp(gateway, { ...chat, stream: true })
  const stop = new AbortController()
  const stream = await gateway.raw(JSON.stringify({ ...chat, stream: true }), stop.signal)
  await stream.body?.getReader().read()
  stop.abort()
  await gateway.usage(3)
  for (const { aborted } of gateway.fake.requests.filter(({ path }) => path.endsWith('completions')))
    expect(aborted).toBe(true)
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  expect(metrics).not.toMatch(/^atrium_gateway_backend_errors_total\{/m)
  expect(logLines.filter((line) => /stack|hung up|broke off/.test(line))).toEqual([])
})
