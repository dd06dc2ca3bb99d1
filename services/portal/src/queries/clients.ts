import { sql } from 'kysely'
import type { PortalTransaction } from './tables.ts'

/** Makes the machine client known, or brings it up to date, as superuser. */
export async function upsertSuperuserClient(
  trx: PortalTransaction,
  client: { clientId: string; name: string },
): Promise<void> {
  await trx
    .insertInto('portal.client_principals')
    .values({ client_id: client.clientId, name: client.name, is_superuser: true })
    .onConflict((conflict) =>
      conflict
        .column('client_id')
        .doUpdateSet({ name: client.name, is_superuser: true, version: sql`client_principals.version + 1` }),
    )
    .execute()
}
