import type { Job } from '@atrium/kernel/jobs'
import { deleteEmptyBuckets } from '../queries/attempts.ts'
import { deleteExpiredOidcRecords } from '../queries/oidc-records.ts'
import { deleteExpiredPasswordLinks } from '../queries/password-links.ts'
import { deleteExpiredRevocations } from '../queries/revoked-tokens.ts'
import { deleteOldSessions } from '../queries/sessions.ts'
import type { IdentityDatabase } from '../queries/tables.ts'

/** Ended sessions say for so long what happened. */
const SESSION_DAYS = 30

/** Removes what is over: it counts no longer and only takes room. */
export const deleteExpiredJob = (db: IdentityDatabase): Job => ({
  name: 'identity.delete-expired',
  cron: '*/10 * * * *',
  async run() {
    await deleteExpiredOidcRecords(db)
    await deleteExpiredRevocations(db)
    await deleteEmptyBuckets(db)
    await deleteExpiredPasswordLinks(db)
    await deleteOldSessions(db, SESSION_DAYS)
  },
})
