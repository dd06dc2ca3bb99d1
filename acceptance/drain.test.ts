import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { type FakeOpenAi, type OwnPostgres, startFakeOpenAi, startOwnPostgres } from '@atrium/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { finish, freePort, spawnAtrium, stopProcess, waitForOutput } from './processes.ts'

const READY = /Atrium is ready[\s\S]*models[^\n]*\n/
const CLIENT = { id: 'atrium-admin', secret: 's'.repeat(43) }
const MINUTE = 60_000
const hello = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] }

interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

let folder = ''
let url = ''
let port = 0
let fake: FakeOpenAi
let running: ChildProcess
let token = ''
/** Reports are for people. */
let userToken = ''
let spaceId = ''
let key = ''
let more: Record<string, string>

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'atrium-drain-'))
  port = await freePort()
  url = `http://127.0.0.1:${port}`
  fake = await startFakeOpenAi({ models: false })
})
afterEach(async () => {
  await stopProcess(running, 'SIGKILL')
  await fake.close()
  await rm(folder, { recursive: true, force: true })
})

const env = (): Record<string, string> => ({
  ATRIUM_DATA_DIR: path.join(folder, 'data'),
  ATRIUM_PORT: String(port),
  ATRIUM_BOOTSTRAP_CLIENT_SECRET: CLIENT.secret,
  ATRIUM_SANDBOX: 'off',
  OPENAI_BASE_URL: fake.url,
  OPENAI_API_KEY: 'sk-operator',
  ...more,
})

async function start(): Promise<void> {
  running = spawnAtrium(['up'], env())
  await waitForOutput(running, READY)
}

/** Over a connection of its own, unless an agent is given. */
async function send(
  method: string,
  where: string,
  options: { token?: string; body?: object | string; agent?: Agent } = {},
): Promise<Reply> {
  const { body, agent } = options
  const sent = request(`${url}${where}`, {
    method,
    agent: agent ?? false,
    headers: {
      ...(options.token === undefined || options.token === ''
        ? {}
        : { authorization: `Bearer ${options.token}` }),
      ...(body === undefined
        ? {}
        : {
            'content-type':
              typeof body === 'string' ? 'application/x-www-form-urlencoded' : 'application/json',
          }),
    },
  }).end(typeof body === 'object' ? JSON.stringify(body) : body)
  const [answer] = await once(sent, 'response')
  return { status: answer.statusCode, headers: answer.headers, body: await text(answer) }
}

async function made<T>(where: string, body: object | string): Promise<T> {
  const answer = await send('POST', where, { token, body })
  expect(answer.status, answer.body).toBeLessThan(300)
  return JSON.parse(answer.body) as T
}

async function startWithSpace(extra: Record<string, string>): Promise<void> {
  more = extra
  await start()
  token = ''
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    scope: 'machine2machine',
    client_id: CLIENT.id,
    client_secret: CLIENT.secret,
  })
  const path = '/auth/oauth2/realms/root/realms/machine2machine/access_token'
  token = (await made<{ access_token: string }>(path, form.toString())).access_token
  spaceId = (await made<{ spaceId: string }>('/portal/v1/spaces', { spaceName: 's', appId: 'A' })).spaceId
  key = (await made<{ apiKeyValue: string }>(`/portal/v1/spaces/${spaceId}/apikeys`, { name: 'k' }))
    .apiKeyValue
  userToken = (await finish(spawnAtrium(['token', '--user', 'admin'], env()))).stdout.trim()
}

/** 20 tokens for $2.50 and 10 for $10 a million: what the fake says it used. */
const CALL = 0.00015

/** The space's costs of this month. */
async function cost(): Promise<number> {
  const month = new Date().toISOString().slice(0, 7)
  const report = await send('GET', `/portal/v1/spaces/${spaceId}/costs/report?month=${month}`, {
    token: userToken,
  })
  expect(report.status, report.body).toBe(200)
  return (JSON.parse(report.body) as { totals: { overallCost: number } }).totals.overallCost
}

/** The status, or why there is none. */
const outcome = (where: string): Promise<number | string> =>
  send('GET', where, { token }).then(
    ({ status }) => status,
    ({ code }: NodeJS.ErrnoException) => code ?? 'failed',
  )

/** Begins a streamed call, and resolves at its first chunk. */
async function beginStream(): Promise<{ rest: Promise<string> }> {
  const answer = await fetch(`${url}/llm/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...hello, stream: true }),
  })
  expect(answer.status).toBe(200)
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  if (reader === undefined) throw new Error('no body')
  const first = await reader.read()
  async function readOn(): Promise<string> {
    let all = first.value ?? ''
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) all += part.value
    return all
  }
  return { rest: readOn() }
}

describe('a stop behind a load balancer', () => {
  it('is announced, then accepts nothing, then cuts streams off with an error and charges them', {
    timeout: 4 * MINUTE,
  }, async () => {
    await startWithSpace({ ATRIUM_DRAIN_PAUSE_SECONDS: '8', ATRIUM_DRAIN_SECONDS: '4' })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const before = await send('GET', '/portal/v1/spaces', { token, agent })
    expect(before.headers.connection).toBe('keep-alive')
    const held = Promise.withResolvers<void>()
    fake.next({ held: held.promise, pieces: ['one two three', ' four'], usage: false, intervalMs: 1 })
    const { rest } = await beginStream()

    const ended = once(running, 'exit')
    running.kill('SIGTERM')
    for (const probe of ['/portal/readiness', '/readyz']) {
      await expect.poll(() => outcome(probe), { timeout: 5000, interval: 20 }).toBe(503)
    }
    expect(await outcome('/portal/liveness')).toBe(200)
    expect(await outcome('/portal/v1/spaces')).toBe(200)
    const during = await send('GET', '/portal/v1/spaces', { token, agent })
    expect([during.status, during.headers.connection]).toEqual([200, 'close'])
    agent.destroy()
    fake.next({})
    expect((await send('POST', '/llm/v1/chat/completions', { token: key, body: hello })).status).toBe(200)

    const seen = new Set<number | string>()
    const look = async (): Promise<number | string> => {
      const status = await outcome('/portal/readiness')
      seen.add(status)
      return status
    }
    await expect.poll(look, { timeout: MINUTE, interval: 20 }).toBe('ECONNREFUSED')
    expect(seen).not.toContain(200)
    expect(running.exitCode).toBeNull()

    const events = (await rest).trim().split('\n\n')
    expect(events[0]).toContain('chat.completion.chunk')
    expect(JSON.parse(events.at(-1)?.replace('data: ', '') ?? '')).toMatchObject({
      error: { type: 'server_error', code: 'server_stopping' },
    })
    expect(events.join()).not.toContain('[DONE]')
    expect(await ended).toEqual([0, null])
    held.resolve()

    await start()
    // The call that ended in the pause, and what was read and written for the one that was cut off.
    await expect.poll(cost, { timeout: MINUTE }).toBeGreaterThan(CALL)
  })

  it('ends at once on a second signal', { timeout: 2 * MINUTE }, async () => {
    more = { ATRIUM_TRUSTED_PROXIES: '10.0.0.1', ATRIUM_DRAIN_PAUSE_SECONDS: '600' }
    await start()
    const ended = once(running, 'exit')
    running.kill('SIGTERM')
    await expect.poll(() => outcome('/portal/readiness'), { timeout: 10_000 }).toBe(503)
    running.kill('SIGTERM')
    expect(await ended).toEqual([1, null])
    // Nobody else has to be stopped either.
    more = {}
    await start()
  })
})

describe('a stop while the database is away', () => {
  let postgres: OwnPostgres
  beforeEach(async () => {
    postgres = await startOwnPostgres()
  }, 2 * MINUTE)
  afterEach(() => postgres.close())

  it.each([
    ['is stopped', () => postgres.stop(), () => postgres.start()],
    ['hangs', () => postgres.freeze(), () => postgres.thaw()],
  ])(
    '%s: is clean, and the next process records what was used',
    { timeout: 4 * MINUTE },
    async (_how, away, back) => {
      await startWithSpace({ DATABASE_URL: postgres.url, ATRIUM_DRAIN_SECONDS: '5' })
      expect((await send('POST', '/llm/v1/chat/completions', { token: key, body: hello })).status).toBe(200)
      await expect.poll(cost, { timeout: MINUTE }).toBe(CALL)
      await away()
      const used = await send('POST', '/llm/v1/chat/completions', { token: key, body: hello })
      expect(used.status, used.body).toBe(200)
      const ended = once(running, 'exit')
      running.kill('SIGTERM')
      expect(await ended).toEqual([0, null])
      await back()
      await start()
      await expect.poll(cost, { timeout: MINUTE }).toBe(2 * CALL)
    },
  )
})
