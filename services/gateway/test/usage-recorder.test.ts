import { mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { AppError } from '@atrium/kernel/errors'
import { createLogger } from '@atrium/kernel/log'
import { sharedTestPlatform, startTestPlatform, type TestPlatform } from '@atrium/testing'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { createUsageStore } from '../src/adapters/usage-store.ts'
import { replayJournals } from '../src/domain/journal-replay.ts'
import { UsageRecorder, type UsageStore } from '../src/domain/usage-recorder.ts'
import type { UsageRow } from '../src/index.ts'
import { hello, startWithFake } from './platform.ts'

const log = createLogger({ level: 'silent' })
let platform: TestPlatform
let folder: string
let rows: UsageRow[]
/** Of the platform's own recorder, which the tests of other files have used. */
let others: string[]
beforeAll(async () => {
  platform = await sharedTestPlatform()
})
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'atrium-recorder-'))
  rows = []
  others = []
  others = (await marks()).map(({ journal_id: id }) => id)
})

/** What the database knows of the journals of the present test. */
async function marks(): Promise<{ journal_id: string; flushed_bytes: string }[]> {
  const { rows: all } = await platform.pool.query(
    'SELECT * FROM gateway.usage_journals WHERE journal_id <> ALL ($1) ORDER BY journal_id',
    [others],
  )
  return all
}

/** Real tables; what would become costs is kept in `rows`. */
const storeOf = (refuses: (row: UsageRow) => boolean = () => false) =>
  createUsageStore({
    pool: platform.pool,
    log,
    costs: {
      async recordUsage(_trx, given) {
        if (given.some(refuses)) throw new AppError(422, 'invalid', 'no such day')
        rows.push(...given)
      },
    },
  })

const recorderOf = (store: UsageStore, segmentBytes?: number) =>
  new UsageRecorder({
    folder,
    currency: 'USD',
    store,
    log,
    ...(segmentBytes === undefined ? {} : { segmentBytes }),
  })

function call(recorder: UsageRecorder, keyId = 'key'): void {
  recorder.note({
    holder: { keyId, spaceId: 'space', name: 'a key' },
    model: 'gpt-4o',
    price: { input: 3n, cachedInput: 1n, output: 7n },
    usage: { promptTokens: 10, completionTokens: 2, cachedTokens: 4, estimated: false },
  })
  recorder.writeNow()
}

const sum = (field: 'requests' | 'promptTokens') => rows.reduce((total, row) => total + row[field], 0)
const pico = () => rows.reduce((total, row) => total + Math.round(Number(row.cost) * 1e12), 0)
const journals = async () => (await readdir(folder)).filter((name) => name.endsWith('.jsonl'))

/** Fails as a database that is away does, while `isAway`. */
function flaky(store: UsageStore) {
  const state = { isAway: false }
  const check = (): void => {
    if (state.isAway) throw Object.assign(new Error('terminating connection'), { code: '57P01' })
  }
  const wrapped: UsageStore = {
    record: async (...of) => {
      check()
      await store.record(...of)
    },
    forget: async (id) => {
      check()
      await store.forget(id)
    },
  }
  return { state, store: wrapped }
}

test('a journal that grew too long is rotated, and the sums stay exact', async () => {
  const recorder = recorderOf(storeOf(), 400)
  const seen = new Set<string>()
  for (let i = 0; i < 300; i++) {
    call(recorder, `key ${i % 3}`)
    if (i % 7 === 0) await recorder.flush()
    for (const name of await journals()) seen.add(name)
  }
  expect(seen.size).toBeGreaterThan(10)
  // The first may join one that the timer began before the last calls.
  await recorder.flush()
  await recorder.flush()
  expect(recorder.lagBytes).toBe(0)
  expect(await journals()).toHaveLength(1)
  await recorder.close()
  expect([sum('requests'), sum('promptTokens'), pico()]).toEqual([300, 3000, 300 * (6 * 3 + 4 + 2 * 7)])
  expect(await readdir(folder)).toEqual([])
  expect((await marks()).filter(({ flushed_bytes: bytes }) => Number(bytes) > 0)).toEqual([])
})

test('rotation while the database is away waits for it', async () => {
  const { state, store } = flaky(storeOf())
  const recorder = recorderOf(store, 400)
  state.isAway = true
  for (let i = 0; i < 100; i++) {
    call(recorder)
    if (i % 10 === 0) await recorder.flush().catch(() => {})
  }
  expect(recorder.lagBytes).toBeGreaterThan(1000)
  const before = recorder.lagBytes
  call(recorder)
  expect(recorder.lagBytes).toBeGreaterThan(before)
  state.isAway = false
  await recorder.flush()
  await recorder.flush()
  expect(recorder.lagBytes).toBe(0)
  await recorder.close()
  expect([sum('requests'), pico()]).toEqual([101, 101 * 36])
  expect(await readdir(folder)).toEqual([])
})

test('a live journal is not taken over; one whose owner could not flush is, once', async () => {
  const { state, store } = flaky(storeOf())
  const recorder = recorderOf(store)
  state.isAway = true
  for (let i = 0; i < 10; i++) call(recorder)
  expect(await replayJournals(folder, storeOf(), log)).toBe(0)
  expect([rows, (await journals()).length]).toEqual([[], 1])
  await expect(recorder.close()).rejects.toThrow('terminating connection')
  const taken = await Promise.all([1, 2, 3].map(() => replayJournals(folder, storeOf(), log)))
  expect(taken.reduce((all, one) => all + one, 0)).toBe(1)
  expect([sum('requests'), pico()]).toEqual([10, 360])
  expect(await journals()).toEqual([])
})

test('what the costs refuse for good is set aside, and the rest recorded', async () => {
  const recorder = recorderOf(storeOf(({ keyId }) => keyId === 'bad'))
  for (const key of ['good', 'bad', 'bad', 'better']) call(recorder, key)
  await recorder.flush()
  expect(rows.map(({ keyId }) => keyId)).toEqual(['good', 'better'])
  const { rows: aside } = await platform.pool.query('SELECT usage, reason FROM gateway.unrecorded_usage')
  expect(aside).toMatchObject([{ usage: { keyId: 'bad', requests: 2 }, reason: 'no such day' }])
  await recorder.close()
})

test('two platforms in one data folder charge every call once', async () => {
  await using one = await startWithFake()
  const two = await startTestPlatform({
    env: {
      DATABASE_URL: one.platform.databaseUrl,
      ATRIUM_DATA_DIR: one.platform.dataDir,
      OPENAI_BASE_URL: one.fake.url,
    },
  })
  const ask = async (url: string) => {
    const answer = await fetch(`${url}/llm/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${one.space.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(hello),
    })
    await answer.arrayBuffer()
    expect(answer.status).toBe(200)
  }
  await Promise.all(Array.from({ length: 60 }, (_, i) => ask(i % 2 === 0 ? one.platform.url : two.url)))
  await two.close()
  await ask(one.platform.url)
  expect((await one.usage(61))[0]).toMatchObject({ requests: 61, promptTokens: 1220 })
})

test.each(['record', 'forget'] as const)(
  'closing tries once more when the connection breaks after a %s',
  async (broken) => {
    const store = storeOf()
    let breaks = 1
    const recorder = recorderOf({
      ...store,
      [broken]: async (...args: Parameters<UsageStore['record']>) => {
        await store[broken](...args)
        if (breaks-- > 0) throw new Error('Connection terminated')
      },
    })
    call(recorder)
    call(recorder)
    await recorder.close()
    expect(sum('requests')).toBe(2)
    expect(await readdir(folder)).toEqual([])
    expect(await marks()).toEqual([])
  },
)
