import { type Kysely, sql } from '@atrium/kernel/db'
import type { AgentsDb } from './tables.ts'
import type { StoreKey } from './vector-stores.ts'

/** For so long after a search another one is expected. */
export const SEARCHED_SECONDS = 10

/** A store that was written to. */
export interface Written {
  /** Whether somebody searches it, through any process. */
  readonly isSearched: boolean
}

/**
 * Notes that a store's embeddings have changed.
 * @param deletions embeddings that are gone since
 * @returns undefined when there is no such store any more: what was written to it is lost
 */
export async function noteWrite(db: AgentsDb, key: StoreKey, deletions = 0): Promise<Written | undefined> {
  const { rows } = await sql<Written>`
    WITH store AS (
      SELECT space_id, vector_store_id FROM agents.vector_stores
       WHERE space_id = ${key.spaceId} AND vector_store_id = ${key.vectorStoreId} AND status = 'active'
    ), noted AS (
      INSERT INTO agents.vector_store_upkeep AS upkeep (space_id, vector_store_id, dirty_since, deletions)
      SELECT space_id, vector_store_id, now(), ${deletions}::bigint FROM store
      ON CONFLICT (space_id, vector_store_id) DO UPDATE
        SET dirty_since = coalesce(upkeep.dirty_since, now()), deletions = upkeep.deletions + excluded.deletions
        WHERE upkeep.dirty_since IS NULL OR excluded.deletions > 0
    )
    SELECT coalesce(upkeep.searched_at > now() - make_interval(secs => ${SEARCHED_SECONDS}), false) AS "isSearched"
      FROM store LEFT JOIN agents.vector_store_upkeep AS upkeep USING (space_id, vector_store_id)`.execute(db)
  return rows[0]
}

/** Notes that a store is searched; of use twice in the time after which none is expected. */
export async function noteSearch(db: AgentsDb, key: StoreKey): Promise<void> {
  await sql`
    UPDATE agents.vector_store_upkeep SET searched_at = now()
     WHERE space_id = ${key.spaceId} AND vector_store_id = ${key.vectorStoreId}`.execute(db)
}

/** What is known of a store by whoever works on it. */
export interface Lease {
  /** As PostgreSQL writes it: a Date would lose its microseconds. Writes from now on are noted anew. */
  readonly dirty_since: string | null
  readonly prune_is_due: boolean
  readonly deletions: number
  readonly built_rows: number
}

/**
 * Takes a store for a while.
 * @param holder a new id for each lease
 * @returns undefined while somebody else has it, or when it is gone
 */
export async function takeLease(
  db: AgentsDb,
  key: StoreKey,
  holder: string,
  seconds: number,
): Promise<Lease | undefined> {
  // A lease that ran out is that of a process which died: nobody knows what it has left undone.
  const { rows } = await sql<Lease>`
    WITH free AS (
      SELECT upkeep.space_id, upkeep.vector_store_id,
             coalesce(upkeep.dirty_since, CASE WHEN upkeep.holder IS NOT NULL THEN now() END) AS dirty_since
        FROM agents.vector_store_upkeep AS upkeep JOIN agents.vector_stores AS store USING (space_id, vector_store_id)
       WHERE upkeep.space_id = ${key.spaceId} AND upkeep.vector_store_id = ${key.vectorStoreId}
         AND store.status = 'active' AND (upkeep.leased_until IS NULL OR upkeep.leased_until < now())
         FOR UPDATE OF upkeep
    )
    UPDATE agents.vector_store_upkeep AS upkeep
       SET holder = ${holder}::uuid, leased_until = now() + make_interval(secs => ${seconds}), dirty_since = NULL
      FROM free
     WHERE upkeep.space_id = free.space_id AND upkeep.vector_store_id = free.vector_store_id
    RETURNING free.dirty_since::text, coalesce(upkeep.prune_after < now(), false) AS prune_is_due, upkeep.deletions,
              upkeep.built_rows`.execute(db)
  return rows[0]
}

export async function renewLease(
  db: AgentsDb,
  key: StoreKey,
  holder: string,
  seconds: number,
): Promise<void> {
  await sql`
    UPDATE agents.vector_store_upkeep SET leased_until = now() + make_interval(secs => ${seconds})
     WHERE space_id = ${key.spaceId} AND vector_store_id = ${key.vectorStoreId} AND holder = ${holder}::uuid`.execute(
    db,
  )
}

/** What a worker has seen to. */
export interface Done {
  /** Set where something is left to do. */
  readonly dirtySince: string | null
  readonly deletions: number
  readonly builtRows: number
  /** When old files may go; undefined leaves that as it is, null says that there are none. */
  readonly pruneAfterSeconds?: number | null
}

/** Gives a store back. */
export async function releaseLease(db: AgentsDb, key: StoreKey, holder: string, done: Done): Promise<void> {
  const prune =
    done.pruneAfterSeconds === undefined
      ? sql`prune_after`
      : sql`now() + make_interval(secs => ${done.pruneAfterSeconds}::float8)`
  await sql`
    UPDATE agents.vector_store_upkeep
       SET holder = NULL, leased_until = NULL, deletions = deletions - ${done.deletions}::bigint,
           dirty_since = least(dirty_since, ${done.dirtySince}::timestamptz),
           built_rows = ${done.builtRows},
           prune_after = ${prune}
     WHERE space_id = ${key.spaceId} AND vector_store_id = ${key.vectorStoreId} AND holder = ${holder}::uuid`.execute(
    db,
  )
}

/** Stores that nobody works on and that have been waiting, or whose worker died. */
export async function selectDueStores(db: AgentsDb, limit: number): Promise<StoreKey[]> {
  const { rows } = await sql<{ space_id: string; vector_store_id: string }>`
    SELECT upkeep.space_id, upkeep.vector_store_id
      FROM agents.vector_store_upkeep AS upkeep JOIN agents.vector_stores AS store USING (space_id, vector_store_id)
     WHERE store.status = 'active' AND (upkeep.leased_until IS NULL OR upkeep.leased_until < now())
       AND (upkeep.prune_after < now() OR upkeep.dirty_since < now() - interval '30 seconds'
            OR upkeep.leased_until < now())
     ORDER BY least(upkeep.prune_after, upkeep.dirty_since, upkeep.leased_until) LIMIT ${limit}`.execute(db)
  return rows.map((row) => ({ spaceId: row.space_id, vectorStoreId: row.vector_store_id }))
}

/** The id under which this database's embeddings lie where they are kept. */
export async function retrievalOwner(db: AgentsDb): Promise<string> {
  await sql`INSERT INTO agents.retrieval_owner DEFAULT VALUES ON CONFLICT DO NOTHING`.execute(db)
  const { rows } = await sql<{ owner: string }>`SELECT owner FROM agents.retrieval_owner`.execute(db)
  return rows[0]?.owner as string
}

/**
 * For a database that was restored from a backup, whose embeddings may be a little newer than its rows.
 * @param deleted stores that were deleted while the backup was made: their embeddings may be missing
 */
export async function agentsRestored(db: Kysely<unknown>, deleted: readonly string[]): Promise<void> {
  await sql`
    UPDATE agents.vector_stores SET status = 'deleting' WHERE vector_store_id = ANY (${[...deleted]}::uuid[])`.execute(
    db,
  )
  // More deletions than any store has rows let upkeep make the list of its words anew.
  await sql`
    UPDATE agents.vector_store_upkeep
       SET dirty_since = now(), deletions = 1000000000, leased_until = NULL, holder = NULL`.execute(db)
}
