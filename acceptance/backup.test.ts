import type { ChildProcess } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { clientTokenOf, demandJson } from './callers.ts'
import { finish, freePort, killTree, spawnAtrium, stopProcess, waitForOutput } from './processes.ts'
import { batchOf, CLIENT, vectorOf, wordOf } from './retrieval-client.ts'

let folder = ''
let running: ChildProcess | undefined
let url = ''
/** The same for every platform: tokens name it. */
let port = 0
let key = ''
let spaceId = ''
let store = ''
const at = (name: string): string => path.join(folder, name)

const envOf = (dataDir: string, port: number): Record<string, string> => ({
  ATRIUM_DATA_DIR: dataDir,
  ATRIUM_PORT: String(port),
  ATRIUM_SANDBOX: 'on',
  ATRIUM_LOG_LEVEL: 'error',
  ATRIUM_BOOTSTRAP_CLIENT_ID: CLIENT.id,
  ATRIUM_BOOTSTRAP_CLIENT_SECRET: CLIENT.secret,
})

async function start(dataDir: string): Promise<void> {
  running = spawnAtrium(['up'], envOf(dataDir, port))
  await waitForOutput(running, /Atrium is ready/)
}
const run = (args: readonly string[], dataDir: string) =>
  finish(spawnAtrium(args, { ATRIUM_DATA_DIR: dataDir, ATRIUM_PORT: String(port) }))

const call = <T>(method: string, place: string, token: string, body?: object): Promise<T> =>
  demandJson(`${url}${place}`, method, token, body)
const stores = (): string => `/agents/v1/spaces/${spaceId}/vector-stores`
const newStore = async (): Promise<string> =>
  (
    await call<{ vectorStoreId: string }>('POST', stores(), key, {
      name: 's',
      embeddingModel: 'titan-text-embeddings-v2',
    })
  ).vectorStoreId

const clientToken = (): Promise<string> => clientTokenOf(url, CLIENT)

/** What callers see: who there is, what was found, what it cost, what was done. */
async function seen(userToken: string) {
  const token = await clientToken()
  const search = (kind: string, body: object) =>
    call<{ results: object[] }>('POST', `${stores()}/${store}/${kind}`, key, { limit: 20, ...body })
  return {
    spaces: await call('GET', '/portal/v1/spaces', token),
    users: await call('GET', `/portal/v1/spaces/${spaceId}/users`, key),
    agents: await call('GET', `/agents/v1/spaces/${spaceId}/agent`, key),
    vector: (await search('search', { queryEmbedding: vectorOf(3) })).results,
    keyword: (await search('keyword-search', { queryText: wordOf(7) })).results,
    hybrid: (await search('hybrid-search', { queryText: wordOf(9), queryEmbedding: vectorOf(9) })).results,
    costs: (
      await call<{ services: object[] }>(
        'GET',
        `/portal/v1/spaces/${spaceId}/costs/report?month=${new Date().toISOString().slice(0, 7)}`,
        userToken,
      )
    ).services,
    // One that has ended, whose count a trigger of the database keeps.
    runs: await call('GET', `/workflows/v1/spaces/${spaceId}/workflows/w/runs`, userToken),
    firstActs: (await call<{ data: object[] }>('GET', '/portal/v1/admin/audit?operation=createSpace', token))
      .data,
  }
}

/** A run of a workflow that fails, as there is no such script. */
async function failRun(superuser: string): Promise<void> {
  const admin = { qNumber: 'admin', name: 'A', mailAddress: 'a@example.test', role: 'owner' }
  await call('POST', `/portal/v1/spaces/${spaceId}/users`, superuser, admin)
  const userToken = (await run(['token', '--user', 'admin'], at('source'))).stdout.trim()
  const workflow = `/workflows/v1/spaces/${spaceId}/workflows/w`
  const templateRef = { name: 'run-python-code', version: 'v1' }
  const tasks = [{ name: 'only', templateRef, arguments: { script: 'absent.py' }, dependencies: [] }]
  await call('PUT', workflow, userToken, { name: 'W' })
  await call('PUT', `${workflow}/versions/v1`, userToken, { tasks })
  const { runId } = await call<{ runId: string }>(
    'POST',
    `${workflow}/runs?stage=test&versionId=v1`,
    userToken,
    {},
  )
  await vi.waitFor(
    async () =>
      expect(await call('GET', `${workflow}/runs/${runId}`, userToken)).toMatchObject({ status: 'Failed' }),
    { timeout: 60_000, interval: 100 },
  )
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'atrium-backup-'))
  port = await freePort()
  url = `http://127.0.0.1:${port}`
  await start(at('source'))
  const token = await clientToken()
  spaceId = (
    await call<{ spaceId: string }>('POST', '/portal/v1/spaces', token, { spaceName: 's', appId: 'A' })
  ).spaceId
  key = (
    await call<{ apiKeyValue: string }>('POST', `/portal/v1/spaces/${spaceId}/apikeys`, token, { name: 'k' })
  ).apiKeyValue
  store = await newStore()
  for (let batch = 0; batch < 10; batch++) {
    await call('POST', `${stores()}/${store}/embeddings`, key, batchOf(`d${batch}`, batch * 50, 50))
  }
  await failRun(token)
  await call('POST', `/agents/v1/spaces/${spaceId}/agent?model=gpt-4o`, key, {
    name: 'a\ttab\\N and "quotes"\n',
    instructions: 'i',
    description: 'd',
    outputFormat: 'text',
    createdBy: { qxId: 'q', name: 'n' },
  })
}, 120_000)
afterAll(async () => {
  await stopProcess(running, 'SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

/** Writes, deletes and calls models until it is told to stop. */
function writers(): { stop(): Promise<string[]> } {
  let isOver = false
  const kept: string[] = []
  const writing = (async () => {
    for (let round = 0; !isOver; round++) {
      const id = await newStore()
      await call('POST', `${stores()}/${id}/embeddings`, key, batchOf('w', round * 20, 20))
      if (round % 2 === 0) await call('DELETE', `${stores()}/${id}`, key)
      else kept.push(id)
    }
  })()
  const calling = (async () => {
    while (!isOver) {
      await call('POST', '/llm/v1/chat/completions', key, {
        model: 'gpt-4o',
        messages: [{ role: 'user', content: 'hi' }],
      })
    }
  })()
  return {
    async stop() {
      isOver = true
      await Promise.all([writing, calling])
      return kept
    },
  }
}

describe('a backup', () => {
  it('made under writes is restored into an empty folder, where callers see the same', async () => {
    const work = writers()
    await expect.poll(() => readdir(at('source/gateway'))).not.toEqual([])
    const made = await run(['backup', at('busy')], at('source'))
    await work.stop()
    expect(made.code, made.output).toBe(0)
    expect((await stat(at('busy/master.key'))).mode & 0o777).toBe(0o600)

    const userToken = (await run(['token', '--user', 'admin'], at('source'))).stdout.trim()
    const quiet = await run(['backup', at('quiet')], at('source'))
    expect(quiet.code, quiet.output).toBe(0)
    // Usage that is not in the database yet is in the journal.
    await new Promise((resolve) => setTimeout(resolve, 1000))
    const before = await seen(userToken)
    await stopProcess(running, 'SIGTERM')

    const restored = await run(['restore', at('quiet')], at('target'))
    expect(restored.code, restored.output).toBe(0)
    await start(at('target'))
    expect(await seen(userToken)).toEqual(before)
    await stopProcess(running, 'SIGTERM')

    const fromBusy = await run(['restore', at('busy')], at('second'))
    expect(fromBusy.code, fromBusy.output).toBe(0)
    await start(at('second'))
    const listed = await call<{ vectorStoreId: string; embeddingCount: number }[]>('GET', stores(), key)
    expect(listed.length).toBeGreaterThan(0)
    for (const { vectorStoreId, embeddingCount } of listed) {
      // A store may be caught between its making and its first batch, no more than one of them.
      expect([0, 20, 500]).toContain(embeddingCount)
      const path_ = `${stores()}/${vectorStoreId}/search`
      const found = await call<{ results: object[] }>('POST', path_, key, {
        queryEmbedding: vectorOf(1),
        limit: 5,
      })
      expect(found.results).toHaveLength(Math.min(5, embeddingCount))
    }
    expect(listed.filter(({ embeddingCount }) => embeddingCount === 0).length).toBeLessThanOrEqual(1)
    const { vector, keyword } = await seen(userToken)
    expect({ vector, keyword }).toEqual({ vector: before.vector, keyword: before.keyword })
  }, 300_000)

  it('that was cut off is none', async () => {
    const cut = spawnAtrium(['backup', at('cut')], { ATRIUM_DATA_DIR: at('second') })
    await expect
      .poll(() => readdir(at('cut/database')).catch(() => []), { interval: 5, timeout: 30_000 })
      .not.toEqual([])
    killTree(cut.pid ?? 0)
    const refused = await run(['restore', at('cut')], at('third'))
    expect([refused.code, refused.output]).toEqual([1, expect.stringContaining('no complete backup')])
  }, 60_000)

  it('is refused where something is, when it is damaged, and when it is of a newer release', async () => {
    const full = await run(['restore', at('quiet')], at('target'))
    expect([full.code, full.output]).toEqual([1, expect.stringContaining('is not empty')])
    const again = await run(['backup', at('quiet')], at('second'))
    expect([again.code, again.output]).toEqual([1, expect.stringContaining('is not empty')])

    const change = async (name: string, file: string, edit: (text: string) => string) => {
      await cp(at('quiet'), at(name), { recursive: true })
      const place = path.join(at(name), file)
      await writeFile(place, edit(await readFile(place, 'utf8')))
      return run(['restore', at(name)], at('third'))
    }
    const damaged = await change('damaged', 'database/portal.spaces.copy', (text) => `${text}x`)
    expect([damaged.code, damaged.output]).toEqual([
      1,
      expect.stringContaining('portal.spaces.copy is not what'),
    ])
    const later = await change('later', 'manifest.json', (text) => text.replace('"format": 1', '"format": 2'))
    expect([later.code, later.output]).toEqual([1, expect.stringContaining('newer Atrium')])
    const newer = await change('newer', 'manifest.json', (text) =>
      text.replace(/"portal": "[^"]+"/, '"portal": "9999-later"'),
    )
    expect([newer.code, newer.output]).toEqual([1, expect.stringContaining('portal/9999-later')])
  }, 60_000)

  it('that was not restored to the end is no platform', async () => {
    await cp(at('target'), at('half'), { recursive: true })
    await writeFile(at('half/restore.incomplete'), '')
    const started = await run(['up'], at('half'))
    expect([started.code, started.output]).toEqual([1, expect.stringContaining('was cut off')])
  }, 60_000)
})
