import type { Pool } from '@atrium/kernel/db'
import type { Role } from './tables.ts'

export interface SpacePermissionsRow {
  /** Null where there is no such person. */
  readonly is_superuser: boolean | null
  readonly role: Role | null
}

/** `undefined` where there is no such space. */
export async function selectSpacePermissions(
  pool: Pool,
  spaceId: string,
  qNumber: string,
): Promise<SpacePermissionsRow | undefined> {
  const { rows } = await pool.query<SpacePermissionsRow>({
    name: 'portal-space-permissions',
    text: `SELECT p.is_superuser, m.role FROM portal.spaces s
      LEFT JOIN portal.people p ON p.q_number = $2
      LEFT JOIN portal.memberships m ON m.space_id = s.space_id AND m.user_id = p.user_id
      WHERE s.space_id = $1 AND s.deleted_at IS NULL`,
    values: [spaceId, qNumber],
  })
  return rows[0]
}
