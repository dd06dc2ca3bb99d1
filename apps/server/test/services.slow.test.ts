import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Closers } from '@atrium/kernel/lifecycle'
import { cloneTemplate, freePort, startTestPlatform, TEST_CREDENTIALS } from '@atrium/testing'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const STARTS = { timeout: 60_000, interval: 250 }

let closers: Closers
beforeEach(() => {
  closers = new Closers()
})
afterEach(() => closers.close())

interface Running {
  readonly url: string
  readonly dataDir: string
  readonly child: ChildProcess
}

/** One real process of several on a database. */
async function startProcess(services: string, databaseUrl: string, publicUrl?: string): Promise<Running> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-test-'))
  closers.add('folder', () => rm(dataDir, { recursive: true, force: true }))
  const port = await freePort()
  const child = spawn(process.execPath, [MAIN, 'up'], {
    stdio: 'ignore',
    env: {
      PATH: process.env.PATH,
      ...TEST_CREDENTIALS,
      ATRIUM_SERVICES: services,
      ATRIUM_SANDBOX: 'on',
      ATRIUM_PROBE_LOCAL_MODELS: 'false',
      ATRIUM_BACKGROUND_JOBS: 'false',
      ATRIUM_DATA_DIR: dataDir,
      ATRIUM_PORT: String(port),
      DATABASE_URL: databaseUrl,
      ...(publicUrl === undefined ? {} : { ATRIUM_PUBLIC_URL: publicUrl }),
    },
  })
  closers.add('process', async () => {
    if (child.exitCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  })
  const url = `http://127.0.0.1:${port}`
  const ready = (): Promise<number> =>
    fetch(`${url}/readyz`).then(
      ({ status }) => status,
      () => 0,
    )
  await expect.poll(ready, STARTS).toBe(200)
  return { url, dataDir, child }
}

async function newDatabase(): Promise<string> {
  const database = await cloneTemplate(inject('databaseAdminUrl'))
  closers.add('database', () => database.drop())
  return database.url
}

async function emptyDatabase(): Promise<string> {
  const name = `services_${process.pid}`
  const admin = new pg.Client({ connectionString: new URL('/postgres', inject('databaseAdminUrl')).href })
  await admin.connect()
  await admin.query(`CREATE DATABASE ${name}`)
  closers.add('database', async () => {
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`)
    await admin.end()
  })
  return new URL(`/${name}`, inject('databaseAdminUrl')).href
}

const get = async (url: string, token?: string) => {
  const answer = await fetch(
    url,
    token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
  )
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects to be there
  return { status: answer.status, body: (await answer.json()) as any }
}

/** An operation of each service that wants a credential. */
const PROTECTED = {
  identity: '/auth/v1/admin/accounts',
  portal: '/portal/v1/spaces',
  gateway: '/llm/v1/models',
  agents: '/agents/v1/models',
  workflows: '/workflows/v1/spaces/x/workflows',
}

describe('a process that runs one service', () => {
  it.each(['identity', 'portal', 'gateway', 'agents', 'workflows'] as const)(
    'makes and loads no part of the others: %s',
    async (service) => {
      const { url, dataDir, child } = await startProcess(service, await newDatabase())
      expect(await get(`${url}/healthz`)).toEqual({ status: 200, body: { status: 'alive' } })
      expect((await get(`${url}/readyz`)).body.checks).toEqual({ database: 'ok' })
      for (const [name, at] of Object.entries(PROTECTED)) {
        expect((await get(`${url}${at}`)).status, name).toBe(name === service ? 401 : 404)
      }
      expect(existsSync(path.join(dataDir, 'retrieval'))).toBe(service === 'agents')
      expect(existsSync(path.join(dataDir, 'gateway'))).toBe(service === 'gateway')
      // Where there is no /proc, the folders have to do.
      const maps = await readFile(`/proc/${child.pid}/maps`, 'utf8').catch(() => undefined)
      if (maps !== undefined) expect(maps.includes('lancedb')).toBe(service === 'agents')
    },
    120_000,
  )

  it('works with the others through the database alone', async () => {
    await using platform = await startTestPlatform()
    const publicUrl = `http://localhost:${new URL(platform.url).port}`
    const { spaceId, apiKey, ownerToken } = await platform.space()
    const gateway = await startProcess('gateway', platform.databaseUrl, publicUrl)
    const agents = await startProcess('agents', platform.databaseUrl, publicUrl)
    const portal = await startProcess('portal', platform.databaseUrl, publicUrl)
    const identity = await startProcess('identity', platform.databaseUrl, publicUrl)

    expect((await get(`${gateway.url}/llm/v1/models`, apiKey)).status).toBe(200)
    expect((await get(`${gateway.url}/llm/v1/models`, 'a wrong key')).status).toBe(401)
    expect((await get(`${portal.url}/portal/v1/spaces/${spaceId}`, ownerToken)).body.spaceId).toBe(spaceId)
    const models = (url: string) => get(`${url}/agents/v1/models`, ownerToken)
    expect(await models(agents.url)).toEqual({ ...(await models(platform.url)), status: 200 })
    // Who is superuser is the portal's to say.
    const accounts = (token: string) => get(`${identity.url}/auth/v1/admin/accounts`, token)
    expect((await accounts(platform.superuser.token)).status).toBe(200)
    expect((await accounts(ownerToken)).status).toBe(403)
  }, 240_000)

  it('makes the first credentials, whichever it is', async () => {
    const databaseUrl = await emptyDatabase()
    await startProcess('gateway', databaseUrl)
    const identity = await startProcess('identity', databaseUrl)
    const answer = await fetch(
      `${identity.url}/auth/oauth2/realms/root/realms/machine2machine/access_token`,
      {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          scope: 'machine2machine',
          client_id: TEST_CREDENTIALS.ATRIUM_BOOTSTRAP_CLIENT_ID,
          client_secret: TEST_CREDENTIALS.ATRIUM_BOOTSTRAP_CLIENT_SECRET,
        }),
      },
    )
    expect(answer.status).toBe(200)
  }, 120_000)
})
