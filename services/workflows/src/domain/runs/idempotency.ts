import { createHash } from 'node:crypto'
import { conflict } from '@atrium/kernel/errors'
import { claimKey } from '../../queries/idempotency-keys.ts'
import type { RunPath } from '../../queries/runs.ts'
import type { WorkflowsDb } from '../../queries/tables.ts'

/** A request that is to have one effect however often it comes. */
export interface OnceOnly {
  readonly operation: 'createRun' | 'retryRun'
  readonly key: string
  /** All that makes the request this one and no other. */
  readonly request: unknown
}

/** The same value as one text, whatever the order of its keys. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}

/**
 * Claims the key of a request within the transaction that carries it out.
 * @returns the id of the run that the key stands for already; undefined when the request is to be carried out
 * @throws AppError 409 when the key stands for another request
 */
export async function claimOnce(
  trx: WorkflowsDb,
  { spaceId, workflowId, runId }: RunPath,
  { operation, key, request }: OnceOnly,
): Promise<string | undefined> {
  const requestHash = createHash('sha256').update(canonical(request)).digest()
  const known = await claimKey(trx, { spaceId, workflowId, operation, key, requestHash, runId })
  if (known === undefined) return undefined
  if (known.request_hash.equals(requestHash)) return known.run_id
  throw conflict('This Idempotency-Key was sent with another request before', 'idempotency_key_reused')
}
