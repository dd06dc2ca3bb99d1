import { sql } from '@atrium/kernel/db'
import type { WorkflowsDb } from './tables.ts'

/** How long a key stands for the run that it made. */
const KEPT = sql`interval '24 hours'`

export interface KeyClaim {
  readonly spaceId: string
  readonly workflowId: string
  readonly operation: string
  readonly key: string
  readonly requestHash: Buffer
  readonly runId: string
}

/**
 * Claims a key for a run that this transaction is about to make or change. Whoever else claims it meanwhile waits for
 * the end of the transaction.
 * @returns undefined when it is claimed, else the request that it stands for
 */
export async function claimKey(
  trx: WorkflowsDb,
  claim: KeyClaim,
): Promise<{ readonly request_hash: Buffer; readonly run_id: string } | undefined> {
  const { spaceId, workflowId, operation, key, requestHash, runId } = claim
  const { rows } = await sql`
    INSERT INTO workflows.idempotency_keys AS known (space_id, workflow_id, operation, key, request_hash, run_id)
    VALUES (${spaceId}, ${workflowId}, ${operation}, ${key}, ${requestHash}, ${runId})
    ON CONFLICT (space_id, workflow_id, operation, key) DO UPDATE
      SET request_hash = excluded.request_hash, run_id = excluded.run_id, created_at = now()
      WHERE known.created_at < now() - ${KEPT}
    RETURNING 1`.execute(trx)
  if (rows.length > 0) return undefined
  const known = await trx
    .selectFrom('workflows.idempotency_keys')
    .select(['request_hash', 'run_id'])
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .where('operation', '=', operation)
    .where('key', '=', key)
    .executeTakeFirst()
  // It was deleted at this moment, for its age or with its workflow.
  return known ?? claimKey(trx, claim)
}

/** Deletes keys that stand for nothing any more. */
export async function deleteOldKeys(db: WorkflowsDb, most: number): Promise<void> {
  await sql`DELETE FROM workflows.idempotency_keys WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM workflows.idempotency_keys WHERE created_at < now() - ${KEPT} LIMIT ${most}))`.execute(
    db,
  )
}
