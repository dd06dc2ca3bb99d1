import { sql } from 'kysely'
import { type Listed, type ListQuery, listRows } from './listing.ts'
import type { PortalDb, StatementRunner } from './tables.ts'

export interface NewAuditEntry {
  readonly entryId: string
  readonly actorKind: string
  readonly actorId: string
  readonly actorName: string
  readonly operation: string
  readonly spaceId: string | null
  readonly resourceType: string
  readonly resourceId: string
  /** JSON text. */
  readonly before: string | null
  readonly after: string | null
  readonly address: string
  readonly requestId: string
  readonly userAgent: string
}

export interface AuditRow {
  readonly entry_id: string
  readonly at: Date
  readonly actor_kind: 'user' | 'client' | 'key' | 'system'
  readonly actor_id: string
  readonly actor_name: string
  readonly operation: string
  readonly space_id: string | null
  readonly resource_type: string
  readonly resource_id: string
  readonly before: Record<string, unknown> | null
  readonly after: Record<string, unknown> | null
  readonly address: string
  readonly request_id: string
  readonly user_agent: string
}

export interface AuditFilter extends Pick<ListQuery, 'limit' | 'page'> {
  readonly operation?: string
  /** Q number, client id or key id. */
  readonly actor?: string
  readonly resourceId?: string
  /** Included. */
  readonly from?: Date
  /** Not included. */
  readonly to?: Date
}

export async function insertAuditEntry(trx: StatementRunner, entry: NewAuditEntry): Promise<void> {
  await sql`INSERT INTO portal.audit_entries (entry_id, actor_kind, actor_id, actor_name, operation, space_id,
      resource_type, resource_id, before, after, address, request_id, user_agent)
    VALUES (${entry.entryId}, ${entry.actorKind}, ${entry.actorId}, ${entry.actorName}, ${entry.operation},
      ${entry.spaceId}, ${entry.resourceType}, ${entry.resourceId}, ${entry.before}::jsonb, ${entry.after}::jsonb,
      ${entry.address}, ${entry.requestId}, ${entry.userAgent})`.execute(trx)
}

/** Newest first; of one space, or of everything when `spaceId` is undefined. */
export async function listAuditRows(
  db: PortalDb,
  spaceId: string | undefined,
  filter: AuditFilter,
): Promise<Listed<AuditRow>> {
  const { operation, actor, resourceId, from, to } = filter
  return listRows<AuditRow>(
    db,
    {
      select: sql`*`,
      from: sql`portal.audit_entries`,
      where: [
        spaceId === undefined ? sql`true` : sql`space_id = ${spaceId}`,
        ...(operation === undefined ? [] : [sql`operation = ${operation}`]),
        ...(actor === undefined ? [] : [sql`actor_id = ${actor}`]),
        ...(resourceId === undefined ? [] : [sql`resource_id = ${resourceId}`]),
        ...(from === undefined ? [] : [sql`at >= ${from}`]),
        ...(to === undefined ? [] : [sql`at < ${to}`]),
      ],
      searched: [],
      sortable: {},
      tieBreak: [sql.ref('at'), sql.ref('entry_id')],
    },
    { ...pageOf(filter), sortOrder: 'desc' },
  )
}

const pageOf = ({ limit, page }: AuditFilter) => ({
  ...(limit === undefined ? {} : { limit }),
  ...(page === undefined ? {} : { page }),
})
