import type { Pool } from '@atrium/kernel/db'
import type { Role } from './tables.ts'

const SUPERUSER = {
  user: 'SELECT is_superuser FROM portal.people WHERE q_number = $1',
  client: `SELECT is_superuser FROM portal.client_principals WHERE client_id = $1 AND status = 'Active'`,
} as const

/** By the value it has now or, until their end, by those that it had before it was rotated. */
const KEY_BY_HASH = `WITH found AS (
    SELECT space_id, key_id, NULL::timestamptz AS valid_until FROM portal.api_keys WHERE key_hash = $1
    UNION ALL
    SELECT space_id, key_id, valid_until FROM portal.former_key_values WHERE key_hash = $1
  ), running AS (
    SELECT date_trunc('month', now() AT TIME ZONE 'UTC')::date AS month
  )
  SELECT k.key_id AS "keyId", k.space_id AS "spaceId", k.name, k.status,
         least(k.expires_at, f.valid_until) AS "expiresAt", k.requests_per_minute AS "requestsPerMinute",
         CASE WHEN k.monthly_budget <= coalesce(used.amount, 0) THEN 'key'
              WHEN b.monthly_budget <= coalesce(all_used.amount, 0) THEN 'space' END AS "usedUpBudget",
         k.monthly_budget IS NOT NULL AS "hasBudget", b.monthly_budget IS NOT NULL AS "spaceHasBudget"
    FROM found f CROSS JOIN running r JOIN portal.api_keys k USING (space_id, key_id)
    JOIN portal.spaces s ON s.space_id = k.space_id AND s.deleted_at IS NULL
    LEFT JOIN portal.space_budgets b ON b.space_id = k.space_id
    LEFT JOIN portal.key_monthly_spend used
      ON used.space_id = k.space_id AND used.month = r.month AND used.key_id = k.key_id AND used.currency = $2
    LEFT JOIN portal.space_monthly_spend all_used
      ON all_used.space_id = k.space_id AND all_used.month = r.month AND all_used.currency = $2`

/**
 * Reads that every request waits for: prepared statements, without a query builder in between.
 * @param currency the platform's, in which budgets are set
 */
export function createAccessQueries(pool: Pool, currency: string) {
  async function first<Row extends object>(name: string, text: string, values: unknown[]) {
    const { rows } = await pool.query<Row>({ name, text, values })
    return rows[0]
  }

  return {
    /** @param id a person's Q number or a client's id */
    async isSuperuser(kind: 'user' | 'client', id: string): Promise<boolean> {
      const row = await first<{ is_superuser: boolean }>(`portal-superuser-${kind}`, SUPERUSER[kind], [id])
      return row?.is_superuser ?? false
    },

    async spaceExists(spaceId: string): Promise<boolean> {
      const row = await first(
        'portal-space-exists',
        'SELECT 1 FROM portal.spaces WHERE space_id = $1 AND deleted_at IS NULL',
        [spaceId],
      )
      return row !== undefined
    },

    /** `null`: no role there; `undefined`: no such space. */
    async personRole(spaceId: string, qNumber: string): Promise<Role | null | undefined> {
      const row = await first<{ role: Role | null }>(
        'portal-person-role',
        `SELECT m.role FROM portal.spaces s
           LEFT JOIN (portal.memberships m JOIN portal.people p ON p.user_id = m.user_id AND p.q_number = $2)
             ON m.space_id = s.space_id
          WHERE s.space_id = $1 AND s.deleted_at IS NULL`,
        [spaceId, qNumber],
      )
      return row?.role
    },

    /** `null`: no role there; `undefined`: no such space. */
    async clientRole(spaceId: string, clientId: string): Promise<Role | null | undefined> {
      const row = await first<{ role: Role | null }>(
        'portal-client-role',
        `SELECT g.role FROM portal.spaces s
           LEFT JOIN (portal.client_grants g JOIN portal.client_principals c
                        ON c.client_id = g.client_id AND c.client_id = $2 AND c.status = 'Active')
             ON g.space_id = s.space_id
          WHERE s.space_id = $1 AND s.deleted_at IS NULL`,
        [spaceId, clientId],
      )
      return row?.role
    },

    async keyByHash(hash: string): Promise<StoredKey | undefined> {
      return first<StoredKey>('portal-key-by-hash', KEY_BY_HASH, [Buffer.from(hash, 'hex'), currency])
    },
  }
}

export interface StoredKey {
  readonly keyId: string
  readonly spaceId: string
  readonly name: string
  readonly status: 'Active' | 'Revoked'
  readonly expiresAt: Date
  /** Null: the gateway's own limit holds. */
  readonly requestsPerMinute: number | null
  /** Whose budget of the running month is used up. */
  readonly usedUpBudget: 'key' | 'space' | null
  /** Whether what it spends must be set aside of a budget before. */
  readonly hasBudget: boolean
  readonly spaceHasBudget: boolean
}

export type AccessQueries = ReturnType<typeof createAccessQueries>
