import { sql } from '@atrium/kernel/db'
import type { AgentsDb } from './tables.ts'
import type { StoreKey } from './vector-stores.ts'

/**
 * Notes that a store's embeddings have changed.
 * @param deletions embeddings that are gone since
 * @returns whether there still is such a store; if not, what was written to it is lost
 */
export async function noteWrite(db: AgentsDb, key: StoreKey, deletions = 0): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
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
    SELECT EXISTS (SELECT FROM store) AS found`.execute(db)
  return rows[0]?.found ?? false
}

/** What is known of a store by whoever works on it. */
export interface Lease {
  /** As PostgreSQL writes it: a Date would lose its microseconds. */
  readonly dirty_since: string | null
  readonly prune_is_due: boolean
  readonly deletions: number
  readonly built_rows: number
}

/** Takes a store for a while. @returns undefined while another process has it, or when it is gone */
export async function takeLease(
  db: AgentsDb,
  key: StoreKey,
  holder: string,
  seconds: number,
): Promise<Lease | undefined> {
  const { rows } = await sql<Lease>`
    UPDATE agents.vector_store_upkeep AS upkeep
       SET holder = ${holder}::uuid, leased_until = now() + make_interval(secs => ${seconds})
      FROM agents.vector_stores AS store
     WHERE upkeep.space_id = ${key.spaceId} AND upkeep.vector_store_id = ${key.vectorStoreId}
       AND store.space_id = upkeep.space_id AND store.vector_store_id = upkeep.vector_store_id
       AND store.status = 'active'
       AND (upkeep.leased_until IS NULL OR upkeep.leased_until < now() OR upkeep.holder = ${holder}::uuid)
    RETURNING upkeep.dirty_since::text, coalesce(upkeep.prune_after < now(), false) AS prune_is_due, upkeep.deletions,
              upkeep.built_rows`.execute(db)
  return rows[0]
}

/** What a worker has seen to. */
export interface Done {
  readonly dirtySince: string | null
  readonly deletions: number
  readonly builtRows: number
  /** When old files may go; undefined leaves that as it is, null says that there are none. */
  readonly pruneAfterSeconds?: number | null
}

/** Gives a store back. @param done the rest stays due */
export async function releaseLease(db: AgentsDb, key: StoreKey, holder: string, done: Done): Promise<void> {
  const prune =
    done.pruneAfterSeconds === undefined
      ? sql`prune_after`
      : sql`now() + make_interval(secs => ${done.pruneAfterSeconds}::float8)`
  await sql`
    UPDATE agents.vector_store_upkeep
       SET holder = NULL, leased_until = NULL, deletions = deletions - ${done.deletions}::bigint,
           dirty_since = CASE WHEN dirty_since <= ${done.dirtySince}::timestamptz THEN NULL ELSE dirty_since END,
           built_rows = ${done.builtRows},
           prune_after = ${prune}
     WHERE space_id = ${key.spaceId} AND vector_store_id = ${key.vectorStoreId} AND holder = ${holder}::uuid`.execute(
    db,
  )
}

/** Stores that nobody works on and that have been waiting. */
export async function selectDueStores(db: AgentsDb, limit: number): Promise<StoreKey[]> {
  const { rows } = await sql<{ space_id: string; vector_store_id: string }>`
    SELECT upkeep.space_id, upkeep.vector_store_id
      FROM agents.vector_store_upkeep AS upkeep JOIN agents.vector_stores AS store USING (space_id, vector_store_id)
     WHERE store.status = 'active' AND (upkeep.leased_until IS NULL OR upkeep.leased_until < now())
       AND (upkeep.prune_after < now() OR upkeep.dirty_since < now() - interval '30 seconds')
     ORDER BY least(upkeep.prune_after, upkeep.dirty_since) LIMIT ${limit}`.execute(db)
  return rows.map((row) => ({ spaceId: row.space_id, vectorStoreId: row.vector_store_id }))
}
