import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { type Harness, jsonl, startHarness } from './harness.ts'

// Each test starts processes, on machines that may have other things to do.
vi.setConfig({ testTimeout: 180_000 })

let at: Harness
let store: string
beforeAll(async () => {
  at = await startHarness()
  store = await at.store()
  const file = await at.files({
    'docs.jsonl': jsonl([
      { id: 'wings', text: 'The lift of an aeroplane wing depends on its angle of attack.', year: 2001 },
      { id: 'bread', text: 'Bread is baked in a hot oven for an hour.', year: 2010 },
      { id: 'birds', text: 'Birds flap their wings to fly. \u001b[31mred', year: 2020 },
    ]),
  })
  const { code, stderr } = await at.run(['import', '--store', store, file])
  if (code !== 0) throw new Error(stderr)
})
afterAll(() => at[Symbol.asyncDispose]())
beforeEach(() => {
  at.proxy.requests.length = 0
})

const search = (...args: string[]) => at.run(['search', '--store', store, ...args])

test.each(['hybrid', 'vector', 'keyword'])('%s search prints a ranking', async (mode) => {
  const { code, stdout } = await search('--mode', mode, 'aeroplane wings')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^1\. +\d+\.\d{4} {2}wings#0\n +The lift of an aeroplane wing/)
  // What a document holds cannot steer the terminal.
  expect(stdout).not.toContain('\u001b')
  expect(at.proxy.requests.some(({ path }) => path.startsWith('/llm/'))).toBe(mode !== 'keyword')
})

test('a limit, a filter, and the answer as JSON', async () => {
  const { stdout } = await search('--limit', '1', '--filter', '{"year": {"$gte": 2005}}', '--json', 'wings')
  const { results } = JSON.parse(stdout)
  expect(results.map(({ documentId }: { documentId: string }) => documentId)).toEqual(['birds'])
  const nothing = await search('--mode', 'keyword', 'xylophone')
  expect(nothing.stdout).toBe('Nothing was found.\n')
})

test.each([
  ['an unknown mode', ['--mode', 'magic', 'x'], /hybrid, vector, keyword/],
  ['a limit of 101', ['--limit', '101', 'x'], /1 to 100/],
  ['a filter that is no JSON', ['--filter', '{', 'x'], /JSON object/],
  ['a filter that is unknown', ['--filter', '{"a": {"$near": 1}}', 'x'], /400/],
  ['no text', [' '], /empty/],
])('%s is wrong use', async (_name, args, message) => {
  const { code, stderr } = await search(...args)
  expect(stderr).toMatch(message)
  expect(code).toBe(2)
})
