import { sql } from '@atrium/kernel/db'
import type { IdentityDatabase } from './tables.ts'

export const PEOPLE_CHANNEL = 'identity_people'

/** Tells every process to forget what it knows about a person. */
export async function announcePerson(db: IdentityDatabase, qxId: string): Promise<void> {
  await sql`select pg_notify(${PEOPLE_CHANNEL}, ${qxId})`.execute(db)
}

export interface Standing {
  readonly hasAccount: boolean
  readonly isDisabled: boolean
  readonly tokensValidFrom: Date | null
  /** Ids of what lives: sign-ins, and grants to applications. */
  readonly sessions: readonly string[]
  readonly grants: readonly string[]
}

/** Everything that decides whether a person's tokens still count, in one statement. */
export async function readStanding(db: IdentityDatabase, qxId: string): Promise<Standing> {
  const { rows } = await sql<Standing>`
    select a.qx_id is not null as "hasAccount",
      a.disabled_at is not null as "isDisabled",
      a.tokens_valid_from as "tokensValidFrom",
      array(
        select s.session_id::text from identity.sessions s
        where s.qx_id = p.qx_id and s.ended_at is null and s.expires_at > now()
      ) as sessions,
      array(
        select r.id from identity.oidc_records r
        where r.model = 'Grant' and r.account_id = p.qx_id and r.expires_at > now()
      ) as grants
    from (select ${qxId}::text as qx_id) p left join identity.accounts a using (qx_id)`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('the look-up of a person answered no row')
  return row
}
