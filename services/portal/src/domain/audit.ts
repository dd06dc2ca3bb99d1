import type { Act, AuditChange, AuditLog } from '@atrium/access'
import { newId } from '@atrium/kernel/ids'
import type { PortalContext } from '../context.ts'
import { insertAuditEntry, listAuditRows } from '../queries/audit.ts'
import type { StatementRunner } from '../queries/tables.ts'

export { systemAct } from '@atrium/access'
export type { Act }

const MASKED = '****'
const SECRET_NAME = /secret|password|hash|token$|keyvalue|authorization/i

const camelCase = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** A value as the log keeps it: rows get the names of the API, and nothing that opens a door is kept. */
function imageOf(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString()
  if (Buffer.isBuffer(value)) return MASKED
  // Half a surrogate pair is a string in JSON, and an error in PostgreSQL's.
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(imageOf)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      camelCase(name),
      SECRET_NAME.test(name) ? MASKED : imageOf(field),
    ]),
  )
}

/**
 * Notes what an act did, in the transaction that does it: neither is there without the other. The database lets nobody
 * change or remove it.
 */
export async function recordAudit(trx: StatementRunner, act: Act, change: AuditChange): Promise<void> {
  await insertAuditEntry(trx, {
    entryId: newId(),
    actorKind: act.kind,
    actorId: act.qxId,
    actorName: act.name,
    operation: act.operation,
    spaceId: change.spaceId,
    resourceType: change.resourceType,
    resourceId: change.resourceId,
    before: change.before === undefined ? null : JSON.stringify(imageOf(change.before)),
    after: change.after === undefined ? null : JSON.stringify(imageOf(change.after)),
    address: act.address,
    requestId: act.requestId,
    userAgent: act.userAgent,
  })
}

/** The platform's one log, for every service: it needs nothing but the transaction of whoever writes. */
export const auditLog: AuditLog = { record: recordAudit }

/** What was done in a space, or everywhere. */
export const listAudit = (
  ctx: PortalContext,
  spaceId: string | undefined,
  query: Parameters<typeof listAuditRows>[2],
) => listAuditRows(ctx.db, spaceId, query)
