import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type OwnPostgres, startOwnPostgres } from '@atrium/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { finish, freePort, spawnAtrium, stopProcess, waitForOutput } from './processes.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 })

let postgres: OwnPostgres
let dataDir = ''
let port = 0
let running: ChildProcess | undefined
beforeAll(async () => {
  postgres = await startOwnPostgres()
  dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-absent-'))
  port = await freePort()
})
afterEach(() => stopProcess(running, 'SIGKILL'))
afterAll(async () => {
  await postgres.close()
  await rm(dataDir, { recursive: true, force: true })
})

const start = (databaseUrl: string): ChildProcess =>
  spawnAtrium(['up'], { ATRIUM_DATA_DIR: dataDir, ATRIUM_PORT: String(port), DATABASE_URL: databaseUrl })

describe('atrium up with a database that is not there', () => {
  it('waits for it, says so, and starts when it comes', async () => {
    await postgres.stop()
    running = start(postgres.url)
    const ready = waitForOutput(running, /Atrium is ready/)
    await waitForOutput(running, /waiting for the database/)
    expect((await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.status).toBeUndefined()
    await postgres.start()
    await ready
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200)
  })

  it.each([
    ['refuses connections', async () => `postgres://nobody@127.0.0.1:${await freePort()}/none`],
    [
      'swallows packets',
      async () => {
        postgres.proxy.hold()
        return postgres.url
      },
    ],
  ])('gives up after half a minute and says why: one that %s', async (how, urlOf) => {
    running = start(await urlOf())
    const { code, output } = await finish(running)
    postgres.proxy.release()
    expect(code).toBe(1)
    const why = how === 'swallows packets' ? 'it says nothing' : 'connect ECONNREFUSED 127\\.0\\.0\\.1:\\d+'
    expect(output).toMatch(
      new RegExp(`^The database of DATABASE_URL did not answer within 30 s: ${why}\n$`, 'm'),
    )
    expect(output.match(/waiting for the database/g)?.length).toBeLessThanOrEqual(4)
  })

  it('stops at once where it answers and refuses', async () => {
    running = start(Object.assign(new URL(postgres.url), { password: 'a-wrong-password' }).href)
    const { code, output } = await finish(running)
    expect(code).toBe(1)
    expect(output).toContain('The database refuses the connection: ')
    expect(output).not.toContain('waiting for the database')
    expect(output).not.toContain('a-wrong-password')
  })
})
