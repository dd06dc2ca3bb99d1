import { sql } from '@atrium/kernel/db'
import { announcePerson } from './people.ts'
import type { IdentityDatabase, SessionRow } from './tables.ts'

export interface NewSession {
  readonly sessionId: string
  readonly qxId: string
  readonly clientId: string
  readonly address: string
  readonly userAgent: string
  readonly lifetimeSeconds: number
}

export async function insertSession(trx: IdentityDatabase, session: NewSession): Promise<void> {
  await trx
    .insertInto('sessions')
    .values({
      session_id: session.sessionId,
      qx_id: session.qxId,
      client_id: session.clientId,
      address: session.address,
      user_agent: session.userAgent,
      expires_at: sql<Date>`now() + make_interval(secs => ${session.lifetimeSeconds})`,
    })
    .execute()
  await announcePerson(trx, session.qxId)
}

const living = (db: IdentityDatabase, qxId: string) =>
  db
    .selectFrom('sessions')
    .where('qx_id', '=', qxId)
    .where('ended_at', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)

/** Newest first. */
export const listLivingSessions = (db: IdentityDatabase, qxId: string): Promise<SessionRow[]> =>
  living(db, qxId).selectAll().orderBy('created_at', 'desc').orderBy('session_id', 'desc').execute()

/** Notes that the session is in use. @returns false when it is over */
export async function touchSession(db: IdentityDatabase, qxId: string, sessionId: string): Promise<boolean> {
  const result = await db
    .updateTable('sessions')
    .set({ last_used_at: sql<Date>`now()` })
    .where('session_id', '=', sessionId)
    .where('qx_id', '=', qxId)
    .where('ended_at', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/**
 * Ends living sessions of a person and deletes what hangs on them: the browser's session, codes, refresh
 * tokens, grants. Announces it.
 * @param which one session, all but one, all but the newest so many, or all
 * @returns how many ended
 */
export async function endSessions(
  trx: IdentityDatabase,
  qxId: string,
  which: { only: string } | { except: string } | { beyond: number } | 'all',
): Promise<number> {
  let chosen = living(trx, qxId).select('session_id')
  if (which !== 'all') {
    if ('only' in which) chosen = chosen.where('session_id', '=', which.only)
    else if ('except' in which) chosen = chosen.where('session_id', '!=', which.except)
    else chosen = chosen.orderBy('created_at', 'desc').orderBy('session_id', 'desc').offset(which.beyond)
  }
  const ended = await trx
    .updateTable('sessions')
    .set({ ended_at: sql<Date>`now()` })
    .where('session_id', 'in', chosen)
    .returning('session_id')
    .execute()
  if (ended.length === 0) return 0
  await deleteRecordsOfSessions(
    trx,
    ended.map(({ session_id }) => session_id),
  )
  await announcePerson(trx, qxId)
  return ended.length
}

async function deleteRecordsOfSessions(trx: IdentityDatabase, sessionIds: string[]): Promise<void> {
  await sql`
    with gone as (
      delete from identity.oidc_records
      where session_id = any(${sessionIds}) or (model = 'Session' and uid = any(${sessionIds}))
      returning model, payload, grant_id
    ), grants as (
      select grant_id from gone where grant_id is not null
      union
      select authorization_.value ->> 'grantId'
      from gone, jsonb_each(coalesce(gone.payload -> 'authorizations', '{}')) authorization_
      where gone.model = 'Session'
    )
    delete from identity.oidc_records
    where (model = 'Grant' and id in (select grant_id from grants))
       or grant_id in (select grant_id from grants)`.execute(trx)
}

/** Sessions that were over for `days`. */
export async function deleteOldSessions(db: IdentityDatabase, days: number): Promise<void> {
  await db
    .deleteFrom('sessions')
    .where(
      sql<Date>`least(expires_at, coalesce(ended_at, expires_at))`,
      '<',
      sql<Date>`now() - make_interval(days => ${days})`,
    )
    .execute()
}
