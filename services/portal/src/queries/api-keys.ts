import { withoutUndefined } from '@atrium/kernel/db'
import { type Selectable, sql } from 'kysely'
import { type Listed, type ListQuery, listRows, plainOrder, textOrder } from './listing.ts'
import { type Actor, createdBy, modifiedBy } from './stamps.ts'
import type { ApiKeysTable, PortalDb, PortalTransaction } from './tables.ts'

export type ApiKeyRow = Selectable<ApiKeysTable>

export interface KeyUse {
  readonly spaceId: string
  readonly keyId: string
  readonly usedAtMs: number
}

/** @throws the foreign-key violation of the space */
export async function insertApiKey(
  trx: PortalTransaction,
  key: { spaceId: string; keyId: string; name: string; hash: string; lastFour: string; expiresAt: Date },
  actor: Actor,
): Promise<ApiKeyRow> {
  return trx
    .insertInto('portal.api_keys')
    .values({
      space_id: key.spaceId,
      key_id: key.keyId,
      name: key.name,
      key_hash: Buffer.from(key.hash, 'hex'),
      last_four: key.lastFour,
      expires_at: key.expiresAt,
      ...createdBy(actor),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function findApiKey(
  db: PortalDb,
  spaceId: string,
  keyId: string,
): Promise<ApiKeyRow | undefined> {
  return db
    .selectFrom('portal.api_keys')
    .selectAll()
    .where('space_id', '=', spaceId)
    .where('key_id', '=', keyId)
    .executeTakeFirst()
}

/** Reads a key and keeps others from changing it until the transaction ends. */
export async function lockApiKey(
  trx: PortalTransaction,
  spaceId: string,
  keyId: string,
): Promise<ApiKeyRow | undefined> {
  return trx
    .selectFrom('portal.api_keys')
    .selectAll()
    .where('space_id', '=', spaceId)
    .where('key_id', '=', keyId)
    .forUpdate()
    .executeTakeFirst()
}

/** Hashes (hex) of every value by which the key is found: that of now first. */
export async function selectKeyHashes(db: PortalDb, spaceId: string, keyId: string): Promise<string[]> {
  const { rows } = await sql<{ hash: string }>`
    SELECT encode(key_hash, 'hex') AS hash FROM portal.api_keys WHERE space_id = ${spaceId} AND key_id = ${keyId}
    UNION ALL
    SELECT encode(key_hash, 'hex') FROM portal.former_key_values
     WHERE space_id = ${spaceId} AND key_id = ${keyId} AND valid_until > now()`.execute(db)
  return rows.map((row) => row.hash)
}

export interface ApiKeyChanges {
  readonly name?: string | undefined
  readonly expiresAt?: Date | undefined
  readonly requestsPerMinute?: number | null | undefined
  /** Decimal text. */
  readonly monthlyBudget?: string | null | undefined
}

/** The caller holds the row. */
export async function updateApiKeyById(
  trx: PortalTransaction,
  spaceId: string,
  keyId: string,
  changes: ApiKeyChanges,
  actor: Actor,
): Promise<ApiKeyRow> {
  return trx
    .updateTable('portal.api_keys')
    .set({
      ...withoutUndefined({
        name: changes.name,
        expires_at: changes.expiresAt,
        requests_per_minute: changes.requestsPerMinute,
        monthly_budget: changes.monthlyBudget,
      }),
      ...modifiedBy(actor),
    })
    .where('space_id', '=', spaceId)
    .where('key_id', '=', keyId)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Gives the key a new value; the old one, and those before it, work until `validUntil` at most. The caller holds the row. */
export async function replaceKeyValue(
  trx: PortalTransaction,
  key: ApiKeyRow,
  next: { hash: string; lastFour: string },
  validUntil: Date,
  actor: Actor,
): Promise<ApiKeyRow> {
  const { space_id, key_id, key_hash } = key
  await sql`DELETE FROM portal.former_key_values
    WHERE space_id = ${space_id} AND key_id = ${key_id} AND valid_until <= now()`.execute(trx)
  await sql`UPDATE portal.former_key_values SET valid_until = least(valid_until, ${validUntil})
    WHERE space_id = ${space_id} AND key_id = ${key_id}`.execute(trx)
  await trx
    .insertInto('portal.former_key_values')
    .values({ space_id, key_id, key_hash, valid_until: validUntil })
    .execute()
  return trx
    .updateTable('portal.api_keys')
    .set({ key_hash: Buffer.from(next.hash, 'hex'), last_four: next.lastFour, ...modifiedBy(actor) })
    .where('space_id', '=', space_id)
    .where('key_id', '=', key_id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Revokes an Active key. @returns undefined when no row was changed */
export async function revokeApiKeyById(
  trx: PortalTransaction,
  spaceId: string,
  keyId: string,
  actor: Actor,
  versions: readonly number[] | undefined,
): Promise<ApiKeyRow | undefined> {
  return trx
    .updateTable('portal.api_keys')
    .set({ status: 'Revoked', revoked_at: sql`now()`, ...modifiedBy(actor) })
    .where('space_id', '=', spaceId)
    .where('key_id', '=', keyId)
    .where('status', '=', 'Active')
    .$if(versions !== undefined, (query) => query.where('version', 'in', versions ?? []))
    .returningAll()
    .executeTakeFirst()
}

/** One statement for all; in the order of keys, so that processes do not wait for each other in a circle. */
export async function writeKeyUses(db: PortalDb, uses: readonly KeyUse[]): Promise<void> {
  await sql`UPDATE portal.api_keys k SET last_used_at = greatest(k.last_used_at, u.used_at)
    FROM (
      SELECT space_id, key_id, used_at FROM portal.api_keys JOIN unnest(
        ${uses.map((use) => use.spaceId)}::uuid[],
        ${uses.map((use) => use.keyId)}::uuid[],
        ${uses.map((use) => new Date(use.usedAtMs).toISOString())}::timestamptz[]
      ) AS used(space_id, key_id, used_at) USING (space_id, key_id)
      ORDER BY space_id, key_id FOR NO KEY UPDATE OF api_keys
    ) u
    WHERE k.space_id = u.space_id AND k.key_id = u.key_id`.execute(db)
}

/** An expired key is over like a revoked one. */
const STATUS = sql`CASE WHEN expires_at <= now() THEN 'Revoked' ELSE status END`

/** By the item’s field; the contract offers these. */
const SORTABLE = {
  apiKeyId: plainOrder('key_id'),
  spaceId: plainOrder('space_id'),
  name: textOrder('name'),
  expiryDate: plainOrder('expires_at'),
  apiKeyArn: plainOrder('last_four'),
  status: STATUS,
  revokedAt: plainOrder('revoked_at'),
  lastUsedAt: plainOrder('last_used_at'),
  requestsPerMinute: plainOrder('requests_per_minute'),
  monthlyBudget: plainOrder('monthly_budget'),
  createdAt: plainOrder('created_at'),
  updatedAt: plainOrder('modified_at'),
}

export async function listApiKeyRows(
  db: PortalDb,
  spaceId: string,
  query: ListQuery<keyof typeof SORTABLE> & { readonly status?: 'Active' | 'Revoked' },
): Promise<Listed<ApiKeyRow>> {
  return listRows<ApiKeyRow>(
    db,
    {
      select: sql`*`,
      from: sql`portal.api_keys`,
      where: [
        sql`space_id = ${spaceId}`,
        ...(query.status === undefined ? [] : [sql`(${STATUS}) = ${query.status}`]),
      ],
      searched: [sql.ref('name'), sql.ref('last_four'), sql.ref('created_by_name')],
      sortable: SORTABLE,
      tieBreak: [sql.ref('key_id')],
    },
    query,
  )
}
