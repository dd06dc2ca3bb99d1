import { newId } from '@atrium/kernel/ids'
import { insertAuditEntry } from '../queries/audit.ts'
import type { Actor } from '../queries/stamps.ts'
import type { StatementRunner } from '../queries/tables.ts'

/** Who does something, by which operation, and from where. */
export interface Act extends Actor {
  readonly kind: 'user' | 'client' | 'key' | 'system'
  readonly operation: string
  readonly address: string
  readonly requestId: string
  readonly userAgent: string
}

/** What an act did to one resource. */
export interface AuditChange {
  /** Null for what belongs to no space. */
  readonly spaceId: string | null
  readonly resourceType: string
  readonly resourceId: string
  /** The row or object as it was; absent when it is new. */
  readonly before?: object | undefined
  /** As it is now; absent when it is gone. */
  readonly after?: object | undefined
}

/** What the platform does by itself. */
export const systemAct = (operation: string): Act => ({
  kind: 'system',
  qxId: 'system',
  name: 'system',
  operation,
  address: '',
  requestId: '',
  userAgent: '',
})

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
