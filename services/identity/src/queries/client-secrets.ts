import { sql } from '@atrium/kernel/db'
import { newId } from '@atrium/kernel/ids'
import type { IdentityDatabase } from './tables.ts'

/** Adds a secret; those that the client had stop working after `overlapSeconds` (0: at once, and they are deleted). */
export async function replaceClientSecret(
  trx: IdentityDatabase,
  clientId: string,
  hash: Buffer,
  overlapSeconds: number,
): Promise<void> {
  await trx
    .deleteFrom('client_secrets')
    .where('client_id', '=', clientId)
    .where((where) => (overlapSeconds === 0 ? where.lit(true) : where('expires_at', '<', sql<Date>`now()`)))
    .execute()
  await trx
    .updateTable('client_secrets')
    .set({
      expires_at: sql<Date>`least(expires_at, now() + make_interval(secs => ${overlapSeconds}))`,
    })
    .where('client_id', '=', clientId)
    .execute()
  await trx.insertInto('client_secrets').values({ client_id: clientId, secret_id: newId(), hash }).execute()
}
