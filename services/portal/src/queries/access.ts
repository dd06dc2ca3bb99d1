import type { Pool } from '@atrium/kernel/db'
import type { Role } from './tables.ts'

const SUPERUSER = {
  user: 'SELECT is_superuser FROM portal.people WHERE q_number = $1',
  client: 'SELECT is_superuser FROM portal.client_principals WHERE client_id = $1',
} as const

/** Reads that every request waits for: prepared statements, without a query builder in between. */
export function createAccessQueries(pool: Pool) {
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
      const row = await first('portal-space-exists', 'SELECT 1 FROM portal.spaces WHERE space_id = $1', [
        spaceId,
      ])
      return row !== undefined
    },

    /** `null`: no role there; `undefined`: no such space. */
    async personRole(spaceId: string, qNumber: string): Promise<Role | null | undefined> {
      const row = await first<{ role: Role | null }>(
        'portal-person-role',
        `SELECT m.role FROM portal.spaces s
           LEFT JOIN (portal.memberships m JOIN portal.people p ON p.user_id = m.user_id AND p.q_number = $2)
             ON m.space_id = s.space_id
          WHERE s.space_id = $1`,
        [spaceId, qNumber],
      )
      return row?.role
    },

    /** `null`: no role there; `undefined`: no such space. */
    async clientRole(spaceId: string, clientId: string): Promise<Role | null | undefined> {
      const row = await first<{ role: Role | null }>(
        'portal-client-role',
        `SELECT g.role FROM portal.spaces s
           LEFT JOIN portal.client_grants g ON g.space_id = s.space_id AND g.client_id = $2
          WHERE s.space_id = $1`,
        [spaceId, clientId],
      )
      return row?.role
    },

    async keyByHash(hash: string): Promise<StoredKey | undefined> {
      return first<StoredKey>(
        'portal-key-by-hash',
        `SELECT key_id AS "keyId", space_id AS "spaceId", name, status, expires_at AS "expiresAt"
           FROM portal.api_keys WHERE key_hash = $1`,
        [Buffer.from(hash, 'hex')],
      )
    },
  }
}

export interface StoredKey {
  readonly keyId: string
  readonly spaceId: string
  readonly name: string
  readonly status: 'Active' | 'Revoked'
  readonly expiresAt: Date
}

export type AccessQueries = ReturnType<typeof createAccessQueries>
