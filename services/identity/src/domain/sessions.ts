import type { Act, AuditLog } from '@atrium/access'
import { isUuid, newId } from '@atrium/kernel/ids'
import { noSuchSession } from '../errors.ts'
import { endSessions, insertSession, listLivingSessions, touchSession } from '../queries/sessions.ts'
import type { IdentityDatabase } from '../queries/tables.ts'

/** A sign-in of a person, as they see it. */
export interface Session {
  readonly sessionId: string
  /** The application that the person signed in to first. */
  readonly clientId: string
  readonly address: string
  readonly userAgent: string
  readonly createdAt: Date
  readonly lastUsedAt: Date
  readonly expiresAt: Date
}

/** Somebody proved who they are; the act says from where. */
export interface NewSignIn {
  readonly qxId: string
  readonly clientId: string
  readonly act: Act
}

/** Beginnings and ends of sessions are in the audit log. */
export interface Sessions {
  /** @returns its id. The oldest ones of a person give way when there are too many. */
  begin(session: NewSignIn): Promise<string>
  /** Those that live, newest first. */
  list(qxId: string): Promise<Session[]>
  /** Notes its use. @returns false when it is over */
  touch(qxId: string, sessionId: string): Promise<boolean>
  /** Its tokens stop in every process within a second. @throws AppError 404 unless the person has such a session */
  end(qxId: string, sessionId: string, act: Act): Promise<void>
  /** @param exceptId undefined: all. @returns how many ended */
  endOthers(qxId: string, exceptId: string | undefined, act: Act): Promise<number>
}

const MOST_PER_PERSON = 50
const LONGEST_USER_AGENT = 400

/** @param onEnd called with the person whose tokens ended, once that is committed */
export function createSessions(
  db: IdentityDatabase,
  options: { lifetimeSeconds: number; audit: AuditLog; onEnd: (qxId: string) => void },
): Sessions {
  const { audit } = options

  async function end(qxId: string, which: Parameters<typeof endSessions>[2], act: Act): Promise<number> {
    const ended = await db.transaction().execute(async (trx) => {
      const count = await endSessions(trx, qxId, which)
      const resource =
        typeof which === 'object' && 'only' in which
          ? { resourceType: 'session', resourceId: which.only }
          : { resourceType: 'account', resourceId: qxId }
      if (count > 0)
        await audit.record(trx, act, { spaceId: null, ...resource, after: { qxId, endedSessions: count } })
      return count
    })
    options.onEnd(qxId)
    return ended
  }
  return {
    async begin({ qxId, clientId, act }) {
      const sessionId = newId()
      await db.transaction().execute(async (trx) => {
        await insertSession(trx, {
          sessionId,
          qxId,
          clientId,
          address: act.address,
          userAgent: act.userAgent.slice(0, LONGEST_USER_AGENT),
          lifetimeSeconds: options.lifetimeSeconds,
        })
        await endSessions(trx, qxId, { beyond: MOST_PER_PERSON })
        const resource = { spaceId: null, resourceType: 'session', resourceId: sessionId }
        await audit.record(trx, act, { ...resource, after: { qxId, clientId } })
      })
      options.onEnd(qxId)
      return sessionId
    },
    async list(qxId) {
      return (await listLivingSessions(db, qxId)).map((row) => ({
        sessionId: row.session_id,
        clientId: row.client_id,
        address: row.address,
        userAgent: row.user_agent,
        createdAt: row.created_at,
        lastUsedAt: row.last_used_at,
        expiresAt: row.expires_at,
      }))
    },
    touch: async (qxId, sessionId) => isUuid(sessionId) && touchSession(db, qxId, sessionId),
    async end(qxId, sessionId, act) {
      const ended = isUuid(sessionId) ? await end(qxId, { only: sessionId }, act) : 0
      if (ended === 0) throw noSuchSession(sessionId)
    },
    endOthers: (qxId, exceptId, act) => end(qxId, exceptId === undefined ? 'all' : { except: exceptId }, act),
  }
}
