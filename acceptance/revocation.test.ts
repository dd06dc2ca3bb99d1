import type { ChildProcess } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signIn } from './people.ts'
import { databaseOf, finish, freePort, spawnAtrium, stopProcess, waitForOutput } from './processes.ts'

const READY = /Atrium is ready[\s\S]*models[^\n]*\n/
const MACHINES = '/auth/oauth2/realms/root/realms/machine2machine'
const MASTER_KEY = Buffer.alloc(32, 11).toString('base64')
const ADMIN = {
  user: 'admin',
  password: 'a password for the tests',
  client: 'atrium-admin',
  secret: 'x'.repeat(43),
}

let folders: string[] = []
let first: ChildProcess
let second: ChildProcess
/** Addresses of two processes of one platform. */
let a = ''
let b = ''
let env: Record<string, string>
let database: Awaited<ReturnType<typeof databaseOf>>

beforeAll(async () => {
  folders = await Promise.all([0, 1].map(() => mkdtemp(path.join(tmpdir(), 'atrium-two-'))))
  const [firstDir = '', secondDir = ''] = folders
  const ports = [await freePort(), await freePort()]
  const common = {
    ATRIUM_MASTER_KEY: MASTER_KEY,
    ATRIUM_PUBLIC_URL: `http://127.0.0.1:${ports[0]}`,
    ATRIUM_BOOTSTRAP_USER: ADMIN.user,
    ATRIUM_BOOTSTRAP_PASSWORD: ADMIN.password,
    ATRIUM_BOOTSTRAP_CLIENT_ID: ADMIN.client,
    ATRIUM_BOOTSTRAP_CLIENT_SECRET: ADMIN.secret,
    ATRIUM_SANDBOX: 'on',
    ATRIUM_SERVICES: 'identity,portal,gateway',
  }
  ;[a, b] = ports.map((port) => `http://127.0.0.1:${port}`) as [string, string]
  first = spawnAtrium(['up'], { ...common, ATRIUM_DATA_DIR: firstDir, ATRIUM_PORT: String(ports[0]) })
  await waitForOutput(first, READY)
  const url = (await readFile(path.join(firstDir, 'postgres.url'), 'utf8')).trim()
  env = { ...common, ATRIUM_DATA_DIR: secondDir, ATRIUM_PORT: String(ports[1]), DATABASE_URL: url }
  second = spawnAtrium(['up'], env)
  await waitForOutput(second, READY)
  database = await databaseOf(url)
}, 60_000)

afterAll(async () => {
  await database?.close()
  await stopProcess(second, 'SIGTERM')
  await stopProcess(first, 'SIGTERM')
  for (const folder of folders) await rm(folder, { recursive: true, force: true })
})

async function form(url: string, fields: Record<string, string>): Promise<Response> {
  return fetch(url, { method: 'POST', body: new URLSearchParams(fields) })
}

async function machineToken(url: string): Promise<string> {
  const response = await form(`${url}${MACHINES}/access_token`, {
    grant_type: 'client_credentials',
    scope: 'machine2machine',
    client_id: ADMIN.client,
    client_secret: ADMIN.secret,
  })
  expect(response.status).toBe(200)
  return ((await response.json()) as { access_token: string }).access_token
}

/** How a process answers a read of spaces with this credential. */
const spacesStatus = async (url: string, credential: string): Promise<number> =>
  (await fetch(`${url}/portal/v1/spaces`, { headers: { authorization: `Bearer ${credential}` } })).status
const modelsStatus = async (url: string, key: string): Promise<number> =>
  (await fetch(`${url}/llm/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status
const sessionsStatus = async (url: string, token: string): Promise<number> =>
  (await fetch(`${url}/auth/v1/sessions`, { headers: { authorization: `Bearer ${token}` } })).status

async function api<T>(method: string, url: string, token: string, body?: object): Promise<T> {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  expect(response.ok, `${method} ${url}: ${response.status}`).toBe(true)
  return (response.status === 204 ? undefined : await response.json()) as T
}

async function newKey(token: string): Promise<{ path: string; value: string }> {
  const { spaceId } = await api<{ spaceId: string }>('POST', `${a}/portal/v1/spaces`, token, {
    spaceName: 'revocation',
    appId: 'APP',
  })
  await api('POST', `${a}/portal/v1/spaces/${spaceId}/users`, token, {
    qNumber: ADMIN.user,
    role: 'owner',
    name: 'Administrator',
    mailAddress: 'admin@example.test',
  })
  const keys = `${a}/portal/v1/spaces/${spaceId}/apikeys`
  const key = await api<{ apiKeyId: string; apiKeyValue: string }>('POST', keys, token, { name: 'key' })
  return { path: `${keys}/${key.apiKeyId}`, value: key.apiKeyValue }
}

/** The other process has the credential in use up to the change, and refuses it within a second. @returns milliseconds */
async function refusedWithinASecond(
  status: () => Promise<number>,
  change: () => Promise<unknown>,
): Promise<number> {
  for (let i = 0; i < 5; i++) expect(await status()).toBe(200)
  await change()
  const changedAt = performance.now()
  let last = await status()
  while (last !== 401 && performance.now() - changedAt < 1000) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    last = await status()
  }
  expect(last).toBe(401)
  return Math.round(performance.now() - changedAt)
}

const WAYS = [
  { way: 'as announced', prepare: async () => {} },
  {
    way: 'with every listener’s connection killed just before',
    prepare: () => database.killListeners(),
  },
]

describe.each(WAYS)('what one process revokes, the other refuses within a second, $way', ({ prepare }) => {
  it('a revoked machine token', async () => {
    const token = await machineToken(a)
    const kept = await machineToken(a)
    await refusedWithinASecond(
      () => spacesStatus(b, token),
      async () => {
        await prepare()
        const fields = { token, client_id: ADMIN.client, client_secret: ADMIN.secret }
        expect((await form(`${a}${MACHINES}/token/revoke`, fields)).status).toBe(200)
      },
    )
    expect(await spacesStatus(a, token)).toBe(401)
    expect([await spacesStatus(a, kept), await spacesStatus(b, kept)]).toEqual([200, 200])
  })

  it('a disabled client', async () => {
    const token = await machineToken(a)
    await refusedWithinASecond(
      () => spacesStatus(b, token),
      async () => {
        await prepare()
        // Without a word to anybody: also a lost announcement must not matter.
        await database.query("update identity.clients set status = 'Disabled' where client_id = $1", [
          ADMIN.client,
        ])
      },
    )
    await database.query("update identity.clients set status = 'Active' where client_id = $1", [ADMIN.client])
    await expect.poll(() => spacesStatus(b, token), { timeout: 10_000 }).toBe(200)
  })

  it('an ended session', async () => {
    const gone = await signIn(a, ADMIN.user, ADMIN.password)
    const kept = await signIn(a, ADMIN.user, ADMIN.password)
    await refusedWithinASecond(
      () => sessionsStatus(b, gone.access_token),
      async () => {
        await prepare()
        await api('DELETE', `${a}/auth/v1/sessions`, kept.access_token)
      },
    )
    expect(await sessionsStatus(b, kept.access_token)).toBe(200)
  })

  it('a revoked API key', async () => {
    const { access_token: token } = await signIn(a, ADMIN.user, ADMIN.password)
    const key = await newKey(token)
    await refusedWithinASecond(
      () => modelsStatus(b, key.value),
      async () => {
        await prepare()
        await api('DELETE', key.path, token)
      },
    )
  })
})

describe('commands beside two processes', () => {
  const run = async (...args: string[]) => {
    const { code, output, stdout } = await finish(spawnAtrium(args, env))
    expect(code, output).toBe(0)
    return stdout
  }

  it('make an account, change its password and disable it', async () => {
    const made = await run('user', 'add', 'ada', '--name', 'Ada Lovelace', '--mail', 'ada@example.test')
    const password = /password {2}(\S+)/.exec(made)?.[1] ?? ''
    const early = await signIn(b, 'ada', password)
    const changed = await run('user', 'set-password', 'ada')
    await expect.poll(() => sessionsStatus(a, early.access_token), { timeout: 10_000 }).toBe(401)
    await expect(signIn(a, 'ada', password)).rejects.toThrow('no token')
    const later = await signIn(a, 'ada', /password {2}(\S+)/.exec(changed)?.[1] ?? '')
    await run('user', 'disable', 'ada')
    await expect.poll(() => sessionsStatus(b, later.access_token), { timeout: 10_000 }).toBe(401)
    await run('user', 'enable', 'ada')
    const again = await finish(spawnAtrium(['user', 'add', 'ada'], env))
    expect([again.code, again.output]).toEqual([1, 'There is an account ada already.\n'])
    const nobody = await finish(spawnAtrium(['user', 'disable', 'nobody'], env))
    expect([nobody.code, nobody.output]).toEqual([1, 'Account nobody not found.\n'])
  }, 60_000)

  it('rotate the signing keys of both', async () => {
    const before = await machineToken(a)
    const kid = /Key (\S+) signs/.exec(await run('rotate-keys', '--now'))?.[1]
    for (const url of [a, b]) {
      await expect
        .poll(
          async () => {
            const [header = ''] = (await machineToken(url)).split('.')
            return JSON.parse(Buffer.from(header, 'base64url').toString()).kid
          },
          { timeout: 10_000 },
        )
        .toBe(kid)
      expect(await spacesStatus(url, before)).toBe(200)
    }
  })
})
