import { sql } from '@atrium/kernel/db'
import type { AgentsDb } from './tables.ts'

export interface StoreKey {
  readonly spaceId: string
  readonly vectorStoreId: string
}

export interface WordRow {
  readonly word: string
  readonly stem: string
  readonly letters: number
}

export interface NearWordRow {
  /** The word that was asked about. */
  readonly asked: string
  readonly word: string
  readonly stem: string
}

/** The epoch that words are noted in. Makes the vocabulary where there is none; undefined when there is no such store. */
export async function currentEpoch(db: AgentsDb, key: StoreKey): Promise<number | undefined> {
  const select = () =>
    sql<{ epoch: number }>`
      SELECT epoch FROM agents.vocabularies
       WHERE space_id = ${key.spaceId} AND vector_store_id = ${key.vectorStoreId}`.execute(db)
  const found = await select()
  if (found.rows[0] !== undefined) return found.rows[0].epoch
  await sql`
    INSERT INTO agents.vocabularies (space_id, vector_store_id)
    SELECT space_id, vector_store_id FROM agents.vector_stores
     WHERE space_id = ${key.spaceId} AND vector_store_id = ${key.vectorStoreId}
    ON CONFLICT DO NOTHING`.execute(db)
  return (await select()).rows[0]?.epoch
}

/** @param words in one order for all writers: then two of them never wait for each other in a circle */
export async function insertWords(
  db: AgentsDb,
  key: StoreKey,
  epoch: number,
  words: readonly WordRow[],
): Promise<void> {
  await sql`
    INSERT INTO agents.vocabulary_words (space_id, vector_store_id, epoch, size, word, stem, letters)
    SELECT ${key.spaceId}, ${key.vectorStoreId}, ${epoch}, w.size, w.word, w.stem, w.letters
      FROM unnest(${words.map(({ word }) => word)}::text[], ${words.map(({ stem }) => stem)}::text[],
                  ${words.map(({ word }) => word.length)}::int[], ${words.map(({ letters }) => letters)}::int[])
           AS w (word, stem, size, letters)
    ON CONFLICT DO NOTHING`.execute(db)
}

/** Which of these terms rows of the store hold. OFFSET 0 keeps the planner to the index made for this. */
export async function selectHeldStems(
  db: AgentsDb,
  key: StoreKey,
  stems: readonly string[],
): Promise<string[]> {
  const { rows } = await sql<{ stem: string }>`
    SELECT DISTINCT stem
      FROM (SELECT space_id, vector_store_id, stem FROM agents.vocabulary_words
             WHERE hashtextextended(stem, hashtextextended(vector_store_id::text, 0)) = ANY (ARRAY(
                   SELECT hashtextextended(asked.stem, hashtextextended(${key.vectorStoreId}, 0))
                     FROM unnest(${stems}::text[]) AS asked (stem)))
            OFFSET 0) AS w
     WHERE space_id = ${key.spaceId} AND vector_store_id = ${key.vectorStoreId}
       AND stem = ANY (${stems}::text[])`.execute(db)
  return rows.map(({ stem }) => stem)
}

/**
 * Words of the store that may be within so many edits of the asked ones: of nearly their length, with nearly their
 * letters. Reads the vocabulary's words of those lengths; OFFSET 0 has it do so for each asked word by itself.
 */
export async function selectNearWords(
  db: AgentsDb,
  key: StoreKey,
  asked: readonly { readonly word: string; readonly letters: number; readonly edits: number }[],
): Promise<NearWordRow[]> {
  const epoch = sql`(SELECT v.epoch FROM agents.vocabularies v
                      WHERE v.space_id = ${key.spaceId} AND v.vector_store_id = ${key.vectorStoreId})`
  const { rows } = await sql<NearWordRow>`
    SELECT asked.word AS asked, near.word, near.stem
      FROM unnest(${asked.map(({ word }) => word)}::text[], ${asked.map(({ word }) => word.length)}::int[],
                  ${asked.map(({ letters }) => letters)}::int[], ${asked.map(({ edits }) => edits)}::int[])
           AS asked (word, size, letters, edits)
     CROSS JOIN LATERAL (
           SELECT w.word, w.stem FROM agents.vocabulary_words w
            WHERE w.space_id = ${key.spaceId} AND w.vector_store_id = ${key.vectorStoreId}
              AND w.epoch = ANY (ARRAY[${epoch} - 1, ${epoch}])
              AND w.size BETWEEN asked.size - asked.edits AND asked.size + asked.edits
              AND bit_count((w.letters # asked.letters)::bit(32)) <= 2 * asked.edits
           OFFSET 0) AS near`.execute(db)
  return rows
}

/** Opens the next epoch, unless one is being built. From now on words are noted in it. */
export async function beginEpoch(db: AgentsDb, key: StoreKey): Promise<boolean> {
  const { rows } = await sql`
    UPDATE agents.vocabularies SET epoch = epoch + 1, begun_at = now()
     WHERE space_id = ${key.spaceId} AND vector_store_id = ${key.vectorStoreId} AND begun_at IS NULL
    RETURNING epoch`.execute(db)
  return rows.length > 0
}

/** The epoch being built, and for how long already. */
export async function selectEpochBegun(
  db: AgentsDb,
  key: StoreKey,
): Promise<{ readonly epoch: number; readonly age_ms: number } | undefined> {
  const { rows } = await sql<{ epoch: number; age_ms: number }>`
    SELECT epoch, (extract(epoch FROM now() - begun_at) * 1000)::float8 AS age_ms FROM agents.vocabularies
     WHERE space_id = ${key.spaceId} AND vector_store_id = ${key.vectorStoreId} AND begun_at IS NOT NULL`.execute(
    db,
  )
  return rows[0]
}

/** Keeps of the former epoch the words with these stems. */
export async function copyWords(
  db: AgentsDb,
  key: StoreKey,
  epoch: number,
  stems: readonly string[],
): Promise<void> {
  await sql`
    INSERT INTO agents.vocabulary_words (space_id, vector_store_id, epoch, size, word, stem, letters)
    SELECT space_id, vector_store_id, ${epoch}, size, word, stem, letters FROM agents.vocabulary_words
     WHERE space_id = ${key.spaceId} AND vector_store_id = ${key.vectorStoreId} AND epoch < ${epoch}
       AND stem = ANY (${stems}::text[])
     ORDER BY size, word
    ON CONFLICT DO NOTHING`.execute(db)
}

/** Closes the epoch being built: the words of those before are dropped. */
export async function finishEpoch(db: AgentsDb, key: StoreKey, epoch: number): Promise<void> {
  await sql`
    WITH closed AS (
      UPDATE agents.vocabularies SET begun_at = NULL
       WHERE space_id = ${key.spaceId} AND vector_store_id = ${key.vectorStoreId} AND epoch = ${epoch}
      RETURNING space_id, vector_store_id)
    DELETE FROM agents.vocabulary_words w USING closed c
     WHERE w.space_id = c.space_id AND w.vector_store_id = c.vector_store_id AND w.epoch < ${epoch}`.execute(
    db,
  )
}
