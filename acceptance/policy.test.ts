import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { clientTokenOf, demandJson } from './callers.ts'
import { freePort, root, spawnAtrium, stopProcess, waitForOutput } from './processes.ts'

const run = promisify(execFile)
const POLICIES = path.join(root, 'deploy/policies')
const CREDENTIALS = {
  ATRIUM_BOOTSTRAP_USER: 'sue',
  ATRIUM_BOOTSTRAP_PASSWORD: 'a-long-password-for-sue',
  ATRIUM_BOOTSTRAP_CLIENT_ID: 'policy',
  ATRIUM_BOOTSTRAP_CLIENT_SECRET: 'a-secret-of-the-policy-that-is-long-enough',
}

interface Decision {
  readonly allow: boolean
  readonly reason: string
}

/** OPA's path, or why there is none here. Builds it when there is Go; later runs find the build. */
async function findOpa(): Promise<{ readonly opa: string } | { readonly missing: string }> {
  try {
    const { stdout } = await run(path.join(root, 'scripts/get-opa.sh'), { maxBuffer: 64 * 1_048_576 })
    return { opa: stdout.trim() }
  } catch (error) {
    const lines = String((error as { stderr?: unknown }).stderr)
      .trim()
      .split('\n')
    return { missing: `not tried with a real OPA: ${lines.at(-1)}` }
  }
}

describe('deploy/policies with a real OPA', () => {
  let found: Awaited<ReturnType<typeof findOpa>>
  let dataDir = ''
  let platformPort = 0
  let platform: ChildProcess | undefined
  let server: ChildProcess | undefined
  let opaUrl = ''
  let space = ''
  let emptySpace = ''

  const platformUrl = () => `http://127.0.0.1:${platformPort}`
  const startPlatform = async (): Promise<void> => {
    platform = spawnAtrium(['up'], {
      ...CREDENTIALS,
      ATRIUM_DATA_DIR: dataDir,
      ATRIUM_PORT: String(platformPort),
    })
    await waitForOutput(platform, /Atrium is ready/)
  }

  const decide = async (method: string, qxId: string, more: object = {}): Promise<Decision> => {
    const input = { method, path: '/reports', user: { qxId }, space, ...more }
    const response = await fetch(`${opaUrl}/v1/data/atrium/authz/decision`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ input }),
    })
    expect(response.status).toBe(200)
    return ((await response.json()) as { result: Decision }).result
  }

  /** Settings pushed into OPA win over its environment. */
  const configure = async (config: object | undefined): Promise<void> => {
    const response = await fetch(`${opaUrl}/v1/data/atrium/config`, {
      method: config === undefined ? 'DELETE' : 'PUT',
      headers: { 'content-type': 'application/json' },
      ...(config === undefined ? {} : { body: JSON.stringify(config) }),
    })
    expect(response.status).toBe(204)
  }

  beforeAll(async () => {
    found = await findOpa()
    if ('missing' in found) {
      process.stderr.write(`${found.missing}\n`)
      return
    }
    dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-policy-'))
    platformPort = await freePort()
    await startPlatform()
    const fill = await createPeople(platformUrl())
    space = fill.space
    emptySpace = fill.emptySpace

    const port = await freePort()
    opaUrl = `http://127.0.0.1:${port}`
    server = spawn(
      found.opa,
      ['run', '--server', '--addr', `127.0.0.1:${port}`, '--ignore', '*_test.rego', POLICIES],
      {
        env: {
          PATH: process.env.PATH,
          ATRIUM_URL: platformUrl(),
          ATRIUM_POLICY_CLIENT_ID: CREDENTIALS.ATRIUM_BOOTSTRAP_CLIENT_ID,
          ATRIUM_POLICY_CLIENT_SECRET: CREDENTIALS.ATRIUM_BOOTSTRAP_CLIENT_SECRET,
        },
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    await waitForOutput(server, /Initializing server/)
    await vi.waitFor(() => fetch(`${opaUrl}/health`), { timeout: 10_000 })
  }, 600_000)

  afterAll(async () => {
    await stopProcess(server, 'SIGKILL')
    await stopProcess(platform, 'SIGINT')
    if (dataDir !== '') await rm(dataDir, { recursive: true, force: true })
  })

  beforeEach((context) => {
    if ('missing' in found) context.skip(found.missing)
  })

  it('passes its own tests and the strict check', async () => {
    const { opa } = found as { opa: string }
    await run(opa, ['check', '--strict', POLICIES])
    const { stdout } = await run(opa, ['test', POLICIES])
    expect(stdout).toMatch(/PASS: \d+\/\d+/)
    expect(stdout).not.toContain('FAIL')
  })

  it('lets owners do all, members and superusers read, and strangers nothing', async () => {
    expect(await decide('GET', 'olga')).toEqual({ allow: true, reason: 'member' })
    expect(await decide('DELETE', 'olga')).toEqual({ allow: true, reason: 'owner' })
    expect(await decide('GET', 'max')).toEqual({ allow: true, reason: 'member' })
    expect(await decide('POST', 'max')).toEqual({ allow: false, reason: 'owner required' })
    expect(await decide('GET', 'sue')).toEqual({ allow: true, reason: 'member' })
    expect(await decide('POST', 'sue')).toEqual({ allow: false, reason: 'owner required' })
    expect(await decide('GET', 'otto')).toEqual({ allow: false, reason: 'member required' })
    expect(await decide('GET', 'olga', { space: emptySpace })).toMatchObject({ allow: false })
  })

  it('lets superusers alone do what belongs to no space', async () => {
    const nowhere = { space: undefined }
    expect(await decide('POST', 'sue', nowhere)).toEqual({ allow: true, reason: 'superuser' })
    expect(await decide('GET', 'olga', nowhere)).toEqual({ allow: false, reason: 'superuser required' })
  })

  it('denies unknown users, unknown spaces and input that lacks something', async () => {
    const unknown = { allow: false, reason: 'the user or the space is not known' }
    expect(await decide('GET', 'nobody')).toEqual(unknown)
    expect(await decide('GET', 'nobody', { space: undefined })).toEqual(unknown)
    expect(await decide('GET', 'olga', { space: '01890000-0000-7000-8000-0000000000ff' })).toEqual(unknown)
    expect(await decide('GET', 'olga', { user: undefined })).toMatchObject({ allow: false })
    expect(await decide('GET', 'olga', { method: undefined })).toMatchObject({ allow: false })
    expect(await decide('GET', 'olga', { path: `/x/spaces/${emptySpace}` })).toEqual({
      allow: false,
      reason: 'input.space is not the space of the path',
    })
  })

  it('denies when the portal is slow, answers nonsense or refuses the policy', async () => {
    const servers: Server[] = []
    const serve = async (listener: Parameters<typeof createServer>[1]): Promise<string> => {
      const one = createServer({}, listener ?? (() => {})).listen(0, '127.0.0.1')
      servers.push(one)
      await once(one, 'listening')
      return `http://127.0.0.1:${(one.address() as { port: number }).port}`
    }
    const slow = await serve(() => {})
    const nonsense = await serve((_request, response) => response.end('<h1>It works!</h1>'))
    await configure({ url: slow, token: 'x' })
    expect(await decide('GET', 'olga')).toEqual({ allow: false, reason: 'the portal does not answer' })
    await configure({ url: nonsense, token: 'x' })
    expect(await decide('GET', 'olga')).toEqual({
      allow: false,
      reason: 'the answer of the portal is malformed',
    })
    await configure({ url: platformUrl(), token: 'x' })
    expect(await decide('GET', 'olga')).toEqual({
      allow: false,
      reason: 'the portal refuses the credentials of the policy',
    })
    await configure({ url: platformUrl(), client_id: 'policy', client_secret: 'wrong' })
    expect(await decide('GET', 'olga')).toEqual({
      allow: false,
      reason: 'no token could be had for the client of the policy',
    })
    await configure(undefined)
    expect(await decide('GET', 'olga')).toMatchObject({ allow: true })
    for (const one of servers) {
      one.closeAllConnections()
      one.close()
    }
  })

  it('denies everybody while the portal is down, and no longer', async () => {
    await stopProcess(platform, 'SIGINT')
    const down = { allow: false, reason: 'the portal does not answer' }
    expect(await decide('GET', 'otto', { space: emptySpace })).toEqual(down)
    // What it had said holds for the seconds that its answer allowed, and not longer.
    await expect.poll(() => decide('GET', 'olga'), { timeout: 15_000, interval: 500 }).toEqual(down)
    await startPlatform()
    expect(await decide('GET', 'olga')).toEqual({ allow: true, reason: 'member' })
  }, 120_000)
})

/** Two spaces, one with an owner and a member, and a person who is in the other. */
async function createPeople(url: string): Promise<{ space: string; emptySpace: string }> {
  const token = await clientTokenOf(url, {
    id: CREDENTIALS.ATRIUM_BOOTSTRAP_CLIENT_ID,
    secret: CREDENTIALS.ATRIUM_BOOTSTRAP_CLIENT_SECRET,
  })
  const create = (where: string, body: object): Promise<Record<string, string>> =>
    demandJson(`${url}/portal/v1/spaces${where}`, 'POST', token, body)
  const { spaceId: space = '' } = await create('', { spaceName: 'home', appId: 'APP-1' })
  const { spaceId: emptySpace = '' } = await create('', { spaceName: 'other', appId: 'APP-2' })
  for (const [where, qNumber, role] of [
    [space, 'olga', 'owner'],
    [space, 'max', 'member'],
    [emptySpace, 'otto', 'owner'],
  ] as const) {
    await create(`/${where}/users`, { qNumber, role, name: qNumber, mailAddress: `${qNumber}@example.test` })
  }
  return { space, emptySpace }
}
