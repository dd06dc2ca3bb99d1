import { type ChildProcess, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { clientTokenOf, demandJson } from './callers.ts'
import { finish, freePort, killTree, spawnAtrium, stopProcess, waitForOutput } from './processes.ts'

/** Every test starts processes, which takes as long as the machine has other things to do. */
vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 })

const READY = /Atrium is ready[\s\S]*models[^\n]*\n/

let dataDir = ''
let port = 0
let url = ''
let credentials = { id: '', secret: '' }
let running: ChildProcess | undefined

const env = (): Record<string, string> => ({ ATRIUM_DATA_DIR: dataDir, ATRIUM_PORT: String(port) })

async function start(printed: RegExp = READY): Promise<string> {
  running = spawnAtrium(['up'], env())
  return waitForOutput(running, printed)
}

const token = (): Promise<string> => clientTokenOf(url, credentials)

const createSpace = async (bearer: string, name: string): Promise<string> =>
  (
    await demandJson<{ spaceId: string }>(`${url}/portal/v1/spaces`, 'POST', bearer, {
      spaceName: name,
      appId: 'APP',
    })
  ).spaceId

async function spaceIds(bearer: string): Promise<string[]> {
  const response = await fetch(`${url}/portal/v1/spaces`, { headers: { authorization: `Bearer ${bearer}` } })
  return ((await response.json()) as { spaceId: string }[]).map(({ spaceId }) => spaceId)
}

beforeAll(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-start-'))
  port = await freePort()
  url = `http://127.0.0.1:${port}`
})
afterAll(async () => {
  await stopProcess(running, 'SIGKILL')
  await rm(dataDir, { recursive: true, force: true })
})

describe('atrium up', () => {
  const acknowledged: string[] = []

  it('prints addresses, backends and the first credentials, once', async () => {
    const printed = await start(/client secret +\S+\n/)
    expect(printed).toContain(`http://localhost:${port}/portal`)
    expect(printed).toMatch(/models\s+\S+/)
    credentials = {
      id: /client id\s+(\S+)/.exec(printed)?.[1] ?? '',
      secret: /client secret\s+(\S+)/.exec(printed)?.[1] ?? '',
    }
    expect(printed).toMatch(/password\s+\S+/)
    acknowledged.push(await createSpace(await token(), 'before a clean stop'))
  })

  it('refuses a second start on a data folder in use, naming the process', async () => {
    const { code, output } = await finish(
      spawnAtrium(['up'], { ...env(), ATRIUM_PORT: String(await freePort()) }),
    )
    expect(code).toBe(1)
    expect(output).toContain(`The data folder ${dataDir} is in use by process ${running?.pid}`)
    expect(output).not.toContain('    at ')
  })

  it('mints no token for an id that the portal refuses, and says why in a line', async () => {
    const refused = await finish(spawnAtrium(['token', '--user', ' x'], env()))
    expect(refused).toMatchObject({
      code: 1,
      stdout: '',
      output: 'qxId must be 1 to 128 characters without white space, slashes and control characters.\n',
    })
  })

  it('answers atrium token and atrium migrate beside it', async () => {
    const minted = await finish(spawnAtrium(['token', '--user', 'admin'], env()))
    expect(minted.code, minted.output).toBe(0)
    expect(await spaceIds(minted.stdout.trim())).toEqual(acknowledged)
    const migrated = await finish(spawnAtrium(['migrate'], env()))
    expect(migrated.output).toContain('up to date')
  })

  it('lets requests under way end on SIGTERM, stops everything, and keeps all data', async () => {
    const bearer = await token()
    const late = createSpace(bearer, 'while stopping')
    const ended = once(running as ChildProcess, 'exit')
    await new Promise((resolve) => setTimeout(resolve, 5))
    running?.kill('SIGTERM')
    const [outcome] = await Promise.allSettled([late])
    if (outcome.status === 'fulfilled') acknowledged.push(outcome.value)
    expect((await ended)[0]).toBe(0)

    const printed = await start()
    expect(printed).not.toContain('client secret')
    expect(await spaceIds(await token())).toEqual(acknowledged)
  })

  it('starts on a copy of the data folder that was made while it was stopped', async () => {
    const bearer = await token()
    await stopProcess(running, 'SIGTERM')
    const original = dataDir
    dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-copy-'))
    // With owners and modes, as PostgreSQL wants its files.
    execFileSync('cp', ['-a', `${original}/.`, dataDir])
    await start()
    // The token of before is good: keys and database came along, and fit each other.
    expect(await spaceIds(bearer)).toEqual(acknowledged)
    await stopProcess(running, 'SIGTERM')
    await rm(dataDir, { recursive: true })
    dataDir = original
    await start()
  })

  it('loses nothing that was acknowledged when the whole process tree is killed', async () => {
    for (let round = 0; round < 3; round++) {
      const bearer = await token()
      let alive = true
      const writers = Array.from({ length: 4 }, async (_, writer) => {
        for (let n = 0; alive; n++) {
          const made = await createSpace(bearer, `round ${round} writer ${writer} number ${n}`).catch(
            () => undefined,
          )
          if (made !== undefined) acknowledged.push(made)
        }
      })
      const before = acknowledged.length
      await expect.poll(() => acknowledged.length - before, { timeout: 60_000 }).toBeGreaterThan(7)
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 300))
      const ended = once(running as ChildProcess, 'exit')
      killTree(running?.pid ?? 0)
      alive = false
      await Promise.all([ended, ...writers])
      await start()
      const found = new Set(await spaceIds(await token()))
      expect(acknowledged.filter((id) => !found.has(id))).toEqual([])
    }
    expect(acknowledged.length).toBeGreaterThan(20)
  })

  it('starts again when only the parent was killed and its database lived on', async () => {
    const ended = once(running as ChildProcess, 'exit')
    running?.kill('SIGKILL')
    await ended
    await start()
    expect((await spaceIds(await token())).length).toBeGreaterThanOrEqual(acknowledged.length)
  })
})

describe('the command line', () => {
  it.each([[], ['up'], ['token'], ['migrate'], ['rotate-keys'], ['user'], ['user', 'add'], ['doctor']])(
    'explains itself: atrium %s --help',
    async (...command) => {
      const { code, output } = await finish(spawnAtrium([...command.filter(Boolean), '--help'], {}))
      expect(code).toBe(0)
      expect(output).toContain('Usage: atrium')
    },
  )

  it('names every variable that is wrong', async () => {
    const { code, output } = await finish(
      spawnAtrium(['up'], {
        ATRIUM_PORT: 'http',
        ATRIUM_SERVICES: 'portal,mailer',
        ATRIUM_MASTER_KEY: 'too short',
      }),
    )
    expect(code).toBe(1)
    expect(output).toContain('ATRIUM_PORT=http: must be a whole number from 1 to 65535')
    expect(output).toContain('ATRIUM_SERVICES=portal,mailer: mailer is none of')
    expect(output).not.toContain('    at ')
  })

  it('says which port is taken', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'atrium-port-'))
    const { code, output } = await finish(spawnAtrium(['up'], { ...env(), ATRIUM_DATA_DIR: folder }))
    expect(code).toBe(1)
    expect(output).toContain(`Port ${port} of 127.0.0.1 is in use`)
    await rm(folder, { recursive: true, force: true })
  })

  it('checks the environment: atrium doctor', async () => {
    const healthy = await finish(spawnAtrium(['doctor'], env()))
    expect(healthy.code, healthy.output).toBe(0)
    expect(healthy.output).toContain('Everything is in order.')
    const broken = await finish(
      spawnAtrium(['doctor'], { ...env(), DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none' }),
    )
    expect(broken.code).toBe(1)
    expect(broken.output).toContain('✗')
  })
})
