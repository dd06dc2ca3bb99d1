import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Fault, Passing } from './faulty-proxy.ts'
import { finish, flaws, type Harness, jsonl, rows, startHarness } from './harness.ts'

const DOCUMENTS = 400

// Each test starts processes, on machines that may have other things to do.
vi.setConfig({ testTimeout: 180_000 })

let at: Harness
let file: string
beforeAll(async () => {
  at = await startHarness()
  file = await at.files({ 'docs.jsonl': jsonl(rows(DOCUMENTS)) })
})
afterAll(() => at[Symbol.asyncDispose]())
beforeEach(() => {
  at.proxy.requests.length = 0
  at.proxy.intercept = () => undefined
})

const isEmbedding = ({ method, path }: Passing): boolean => method === 'POST' && path === '/llm/v1/embeddings'
const isUpload = ({ method, path }: Passing): boolean => method === 'POST' && path.startsWith('/agents/')
const isList = ({ method, path }: Passing): boolean => method === 'GET' && path.includes('documentId=')

/** Gives these faults to the first requests of a kind, one each. */
function faultsFor(kind: (request: Passing) => boolean, ...faults: (Fault | undefined)[]): void {
  const left = [...faults]
  at.proxy.intercept = (request) => (kind(request) ? left.shift() : undefined)
}

const refusal: Fault = {
  status: 429,
  headers: { 'retry-after': '1' },
  body: '{"error":{"message":"Rate limit","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"}}',
}

describe('what passes is waited for', () => {
  test.each<[string, (request: Passing) => boolean, Fault[]]>([
    ['429 from the gateway', isEmbedding, [refusal, refusal]],
    ['429 from the store', isUpload, [refusal]],
    ['500 from the gateway', isEmbedding, [{ status: 500 }, 'break-after']],
    ['a list that breaks', isList, ['break-before', { status: 503 }]],
    ['uploads that are lost', isUpload, ['break-before', { status: 503 }]],
    ['uploads that are stored and not confirmed', isUpload, ['break-after', 'fail-after']],
  ])('%s', async (_name, kind, faults) => {
    const store = await at.store()
    faultsFor(kind, ...faults)
    const { code, stderr } = await at.run(['import', '--store', store, file])
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('failed')])
    expect(flaws(await at.stored(store), DOCUMENTS)).toEqual([])
  })
})

test('killed at any moment and started again, every chunk is there exactly once', async () => {
  const store = await at.store()
  const many = await at.files({ 'many.jsonl': jsonl(rows(3 * DOCUMENTS)) })
  for (const [uploads, lateMs] of [
    [0, 0],
    [1, 0],
    // What was on its way arrives while the next run is under way already.
    [2, 700],
    [0, 1200],
  ] as const) {
    const child = at.start(['import', '--store', store, '--concurrency', '2', many])
    const ended = once(child, 'exit')
    let seen = 0
    at.proxy.intercept = async (request) => {
      if (!isUpload(request) || seen++ !== uploads) return undefined
      child.kill('SIGKILL')
      await delay(lateMs)
      return undefined
    }
    await ended
    expect(child.signalCode).toBe('SIGKILL')
  }
  at.proxy.intercept = () => undefined
  // What is still on its way may come after this run's end: the next one mends it.
  await vi.waitFor(
    async () => {
      expect((await at.run(['import', '--store', store, many])).code).toBe(0)
      expect(flaws(await at.stored(store), 3 * DOCUMENTS)).toEqual([])
    },
    { timeout: 20_000, interval: 500 },
  )
})

test('Ctrl-C ends what is under way, says how to go on, and the next run goes on', async () => {
  const store = await at.store()
  const child = at.start(['import', '--store', store, '--concurrency', '1', file])
  let uploads = 0
  at.proxy.intercept = (request) => {
    if (isUpload(request) && ++uploads === 2) child.kill('SIGINT')
    return undefined
  }
  const { code, stdout } = await finish(child)
  expect([code, stdout]).toEqual([130, expect.stringContaining('the same command goes on')])
  const half = await at.stored(store)
  expect(half.length).toBeGreaterThan(0)
  expect(uploads).toBeLessThan(4)
  at.proxy.intercept = () => undefined
  expect((await at.run(['import', '--store', store, file])).code).toBe(0)
  const stored = await at.stored(store)
  expect(flaws(stored, DOCUMENTS)).toEqual([])
  const kept = new Set(stored.map(({ embeddingId }) => embeddingId))
  expect(half.every(({ embeddingId }) => kept.has(embeddingId))).toBe(true)
})

test('a platform that is away for a while is waited for', async () => {
  const store = await at.store()
  const { target } = at.proxy
  let uploads = 0
  at.proxy.intercept = (request) => {
    if (isUpload(request) && ++uploads === 2) {
      at.proxy.target = undefined
      setTimeout(() => {
        at.proxy.target = target
      }, 3000)
    }
    return undefined
  }
  const { code } = await at.run(['import', '--store', store, file])
  expect(code).toBe(0)
  expect(flaws(await at.stored(store), DOCUMENTS)).toEqual([])
})

test('the gateway’s own limit is kept, and costs no document', async () => {
  await using limited = await startHarness({
    ATRIUM_GATEWAY_RATE_LIMIT: '30',
    ATRIUM_GATEWAY_RATE_LIMIT_BURST: '1',
  })
  const store = await limited.store()
  const docs = await limited.files({ 'docs.jsonl': jsonl(rows(DOCUMENTS)) })
  const { code } = await limited.run(['import', '--store', store, docs])
  expect(code).toBe(0)
  expect(flaws(await limited.stored(store), DOCUMENTS)).toEqual([])
  expect(limited.proxy.requests.filter(isEmbedding).length).toBeGreaterThan(4)
})

describe('what does not pass', () => {
  test('a chunk that the model refuses fails its document alone, and leaves none of it', async () => {
    const store = await at.store()
    at.proxy.intercept = (request) =>
      isEmbedding(request) && request.body.includes('Document 23 ')
        ? { status: 400, body: '{"error":{"message":"This is too long for the model"}}' }
        : undefined
    const { code, stdout } = await at.run(['import', '--store', store, '--json', file])
    expect(code).toBe(1)
    const summary = JSON.parse(stdout)
    expect(summary).toMatchObject({ imported: DOCUMENTS - 1, failed: 1 })
    expect(summary.failures[0]).toMatchObject({
      origin: 'docs.jsonl:24',
      reason: expect.stringContaining('too long'),
    })
    const stored = await at.stored(store)
    expect(flaws(stored, DOCUMENTS - 1)).toEqual([])
    expect(stored.some(({ documentId }) => documentId === 'doc-23')).toBe(false)
  })

  test.each<[string, Fault, RegExp]>([
    ['a budget that is used up', { ...refusal, headers: { 'x-should-retry': 'false' } }, /429/],
    ['a key that is revoked', { status: 401, body: '{"error":{"message":"revoked"}}' }, /401: revoked/],
    [
      'a model that is unknown',
      { status: 400, body: '{"error":{"message":"no such model"}}' },
      /no such model/,
    ],
  ])('%s ends it with the reason', async (_name, fault, message) => {
    const store = await at.store()
    at.proxy.intercept = (request) => (isEmbedding(request) ? fault : undefined)
    const { code, stderr } = await at.run(['import', '--store', store, file])
    expect(code).toBe(1)
    expect(stderr).toMatch(message)
    expect(stderr).not.toContain('    at ')
    // Not one request for each document.
    expect(at.proxy.requests.filter(isEmbedding).length).toBeLessThan(200)
  })
})
