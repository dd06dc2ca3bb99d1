import { createDatabase, createPool, sql } from '@atrium/kernel/db'
import { createLogger } from '@atrium/kernel/log'
import { cloneTemplate } from '@atrium/testing'
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import { analyse, WordList } from '../src/domain/keyword/analyse.ts'
import { createVocabulary, type StoreKey } from '../src/domain/keyword/vocabulary.ts'
import type { AgentsTables } from '../src/queries/tables.ts'

const spaceId = '01890000-0000-7000-8000-0000000000aa'
const database = await cloneTemplate(inject('databaseAdminUrl'))
const pool = createPool(database.url, {
  max: 4,
  applicationName: 'test',
  log: createLogger({ level: 'error' }),
})
const db = createDatabase<AgentsTables>(pool)
let made = 0
let key: StoreKey

async function store(): Promise<StoreKey> {
  const vectorStoreId = `01890000-0000-7000-8000-${String(++made).padStart(12, '0')}`
  await sql`INSERT INTO agents.vector_stores (space_id, vector_store_id, name, embedding_model, embedding_dimension,
              chunk_size, chunk_overlap) VALUES (${spaceId}, ${vectorStoreId}, 's', 'm', 1, 1, 0)`.execute(db)
  return { spaceId, vectorStoreId }
}

beforeAll(async () => {
  await sql`INSERT INTO portal.spaces (space_id, space_name, app_id, created_by_id, created_by_name, modified_by_id,
              modified_by_name) VALUES (${spaceId}, 's', 'a', 'x', 'x', 'x', 'x')`.execute(db)
})
beforeEach(async () => {
  key = await store()
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const words = (text: string) => {
  const list = new WordList()
  analyse(text, 'english', list)
  return list.joined()
}
const count = async (of: StoreKey): Promise<number> => {
  const { rows } = await sql<{ n: number }>`SELECT count(*)::int AS n FROM agents.vocabulary_words
    WHERE vector_store_id = ${of.vectorStoreId}`.execute(db)
  return rows[0]?.n ?? -1
}
async function* batches(...terms: string[]) {
  yield terms
}

test('expands words that no row holds, from any process, and those alone', async () => {
  const [writer, reader] = [createVocabulary(db), createVocabulary(db)]
  await writer.note(key, words('proteins in cells'))
  const plan = await reader.plan(key, 'protien cells', 'english', { fuzzy: true })
  expect(plan.exact).toEqual(['protien', 'cell'])
  expect(plan.expansions).toEqual([{ terms: ['protein'], weight: 0.9 }])
  await writer.note(key, words('the misspelt protien'))
  expect((await reader.plan(key, 'protien cells', 'english', { fuzzy: true })).expansions).toEqual([])
})

test('offers similar words for those held, and looks two edits away where one finds nothing', async () => {
  const vocabulary = createVocabulary(db)
  await vocabulary.note(key, words('protein protien transcription cellular'))
  const plan = await vocabulary.plan(key, 'protein transkriptoin', 'english', { fuzzy: true })
  expect(plan.expansions).toEqual([{ terms: ['transcript'], weight: 0.9 }])
  expect(await plan.similar()).toEqual([{ terms: ['protien'], weight: 0.9 }])
})

test('neither expands nor asks the database when not fuzzy', async () => {
  const plan = await createVocabulary(db).plan(key, 'protien', 'english', { fuzzy: false })
  expect(plan).toMatchObject({ exact: ['protien'], expansions: [] })
  expect(await plan.similar()).toEqual([])
})

test('keeps stores apart and is gone with them', async () => {
  const vocabulary = createVocabulary(db)
  const other = await store()
  await vocabulary.note(key, words('protein'))
  expect((await vocabulary.plan(other, 'protien', 'english', { fuzzy: true })).expansions).toEqual([])
  await sql`DELETE FROM agents.vector_stores WHERE vector_store_id = ${key.vectorStoreId}`.execute(db)
  expect(await count(key)).toBe(0)
  await vocabulary.note(key, words('late'))
  expect(await count(key)).toBe(0)
})

test('notes the same words from several writers at once', async () => {
  const many = (start: number) =>
    words(Array.from({ length: 500 }, (_, i) => `w${(i + start) % 700}x`).join(' '))
  await Promise.all([0, 100, 200, 300, 400].map((start) => createVocabulary(db).note(key, many(start))))
  expect(await count(key)).toBe(700)
})

test('takes words that no text column would, and hostile ones', async () => {
  const vocabulary = createVocabulary(db)
  await vocabulary.note(
    key,
    words(`日本語 ${'x'.repeat(500)} '); DROP TABLE agents.agents; -- {a,b} NULL "q\\"`),
  )
  const plan = await vocabulary.plan(key, "drpo '{\"}' \\ tabel", 'english', { fuzzy: true })
  expect(plan.expansions.map(({ terms }) => terms)).toEqual([['drop'], ['tabl']])
})

test('a rebuild drops words that no row holds, and keeps those of rows on their way', async () => {
  const vocabulary = createVocabulary(db, { graceMs: 0 })
  await vocabulary.note(key, words('protein gone'))
  expect(await vocabulary.rebuild(key, () => batches())).toBe('begun')
  await vocabulary.note(key, words('arriving'))
  expect((await vocabulary.plan(key, 'protien', 'english', { fuzzy: true })).expansions).toHaveLength(1)
  expect(await vocabulary.rebuild(key, () => batches('protein x', '', 'protein'))).toBe('done')
  const fresh = createVocabulary(db)
  const expansions = async (text: string) =>
    (await fresh.plan(key, text, 'english', { fuzzy: true })).expansions.map(({ terms }) => terms)
  expect(await expansions('protien')).toEqual([['protein']])
  expect(await expansions('arrivnig')).toEqual([['arriv']])
  expect(await expansions('gonne')).toEqual([])
  await vocabulary.note(key, words('gone'))
  expect(await expansions('gonne')).toEqual([['gone']])
})

test('a rebuild waits until rows that were on their way have arrived', async () => {
  const vocabulary = createVocabulary(db)
  await vocabulary.note(key, words('protein'))
  expect(await vocabulary.rebuild(key, () => batches())).toBe('begun')
  expect(await vocabulary.rebuild(key, () => batches())).toBe('waiting')
  expect(await count(key)).toBe(1)
})
