import type { Principal } from '@atrium/access'
import type { Pool } from '@atrium/kernel/db'
import { withoutUndefined } from '@atrium/kernel/db'
import { type Selectable, sql } from 'kysely'
import { readRows } from './listing.ts'
import { type Actor, createdBy, modifiedBy } from './stamps.ts'
import type { PortalDb, PortalTransaction, Role, SpacesTable } from './tables.ts'

export type SpaceRow = Selectable<SpacesTable>

export interface SpaceDetailRow extends SpaceRow {
  readonly role: Role | null
  readonly superuser: boolean | null
  readonly user_count: number
  readonly workspace_count: number
  readonly key_count: number
  readonly link_count: number
}

export interface SpaceFields {
  readonly spaceName?: string | undefined
  readonly appId?: string | undefined
  readonly description?: string | undefined
  readonly itsmServiceOffering?: string | undefined
}

export async function insertSpace(
  db: PortalDb,
  spaceId: string,
  fields: SpaceFields & { spaceName: string; appId: string },
  actor: Actor,
): Promise<SpaceRow> {
  return db
    .insertInto('portal.spaces')
    .values({
      space_id: spaceId,
      space_name: fields.spaceName,
      app_id: fields.appId,
      ...withoutUndefined({
        description: fields.description,
        itsm_service_offering: fields.itsmServiceOffering,
      }),
      ...createdBy(actor),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Reads an open space and keeps others from changing it until the transaction ends; members and costs may still be added. */
export async function lockSpace(trx: PortalTransaction, spaceId: string): Promise<SpaceRow | undefined> {
  return trx
    .selectFrom('portal.spaces')
    .selectAll()
    .where('space_id', '=', spaceId)
    .where('deleted_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

/** @param versions of which the row must have one (If-Match), when given */
export async function updateSpaceById(
  db: PortalDb,
  spaceId: string,
  fields: SpaceFields,
  actor: Actor,
  versions: readonly number[] | undefined,
): Promise<SpaceRow | undefined> {
  return db
    .updateTable('portal.spaces')
    .set({
      ...withoutUndefined({
        space_name: fields.spaceName,
        app_id: fields.appId,
        description: fields.description,
        itsm_service_offering: fields.itsmServiceOffering,
      }),
      ...modifiedBy(actor),
    })
    .where('space_id', '=', spaceId)
    .where('deleted_at', 'is', null)
    .$if(versions !== undefined, (query) => query.where('version', 'in', versions ?? []))
    .returningAll()
    .executeTakeFirst()
}

/** Spaces in the order of their ids; of one person, client or key when `scope` says so. */
export const readSpaces = (
  db: PortalDb,
  scope: Principal | 'all',
  query: { limit?: number; page?: number },
): AsyncGenerator<SpaceRow[]> =>
  readRows<SpaceRow>(
    db,
    {
      select: sql`s.*`,
      from: sql`portal.spaces s`,
      where: [sql`s.deleted_at IS NULL`, scope === 'all' ? sql`true` : scopeOf(scope)],
      tieBreak: [sql.ref('s.space_id')],
    },
    query,
  )

/** Condition on `s`: the caller has a role there. */
export function scopeOf(caller: Principal) {
  if (caller.kind === 'key') return sql<boolean>`s.space_id = ${caller.spaceId}`
  if (caller.kind === 'client') {
    return sql<boolean>`s.space_id IN (SELECT space_id FROM portal.client_grants WHERE client_id = ${caller.clientId})`
  }
  return sql<boolean>`s.space_id IN (SELECT m.space_id FROM portal.memberships m
    JOIN portal.people p USING (user_id) WHERE p.q_number = ${caller.qxId})`
}

const DETAIL = `SELECT s.*,
    (SELECT count(*) FROM portal.memberships WHERE space_id = s.space_id) AS user_count,
    (SELECT count(*) FROM portal.mkflw_workspaces WHERE space_id = s.space_id) AS workspace_count,
    (SELECT count(*) FROM portal.api_keys WHERE space_id = s.space_id AND status = 'Active' AND expires_at > now()) AS key_count,
    (SELECT count(*) FROM portal.cdh_links WHERE space_id = s.space_id) AS link_count,`

const DETAIL_FOR = {
  user: `${DETAIL} m.role, p.is_superuser AS superuser FROM portal.spaces s
    LEFT JOIN portal.people p ON p.q_number = $2
    LEFT JOIN portal.memberships m ON m.space_id = s.space_id AND m.user_id = p.user_id
    WHERE s.space_id = $1 AND s.deleted_at IS NULL`,
  client: `${DETAIL} g.role, c.is_superuser AS superuser FROM portal.spaces s
    LEFT JOIN portal.client_principals c ON c.client_id = $2
    LEFT JOIN portal.client_grants g ON g.space_id = s.space_id AND g.client_id = c.client_id
    WHERE s.space_id = $1 AND s.deleted_at IS NULL`,
  key: `${DETAIL} CASE WHEN s.space_id = $2::uuid THEN 'member' END AS role, false AS superuser
    FROM portal.spaces s WHERE s.space_id = $1 AND s.deleted_at IS NULL`,
} as const

/** A space with its counts and the caller's relation to it, in one prepared statement. */
export async function selectSpaceDetail(
  pool: Pool,
  spaceId: string,
  caller: Principal,
): Promise<SpaceDetailRow | undefined> {
  const self =
    caller.kind === 'user' ? caller.qxId : caller.kind === 'client' ? caller.clientId : caller.spaceId
  const { rows } = await pool.query<SpaceDetailRow>({
    name: `portal-space-detail-${caller.kind}`,
    text: DETAIL_FOR[caller.kind],
    values: [spaceId, self],
  })
  return rows[0]
}
