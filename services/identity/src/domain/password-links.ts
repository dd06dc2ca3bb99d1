import { hash, randomBytes } from 'node:crypto'
import type { Act } from '@atrium/access'
import { passwordLinkOver } from '../errors.ts'
import { consumePasswordLink, findPasswordLink, replacePasswordLink } from '../queries/password-links.ts'
import type { IdentityDatabase } from '../queries/tables.ts'
import type { Accounts } from './accounts.ts'

const LIFETIME_SECONDS = 3 * 86_400

const hashOf = (token: string): Buffer => hash('sha256', token, 'buffer')

/** Makes the one link by which a person may choose a password; an older one stops working. */
export async function givePasswordLink(
  trx: IdentityDatabase,
  qxId: string,
): Promise<{ token: string; expiresAt: Date }> {
  const token = randomBytes(32).toString('base64url')
  const expiresAt = await replacePasswordLink(trx, {
    tokenHash: hashOf(token),
    qxId,
    lifetimeSeconds: LIFETIME_SECONDS,
  })
  return { token, expiresAt }
}

/** Whose password the link is for. @throws AppError 410 */
export async function personOfLink(db: IdentityDatabase, token: string): Promise<string> {
  const qxId = await findPasswordLink(db, hashOf(token))
  if (qxId === undefined) throw passwordLinkOver()
  return qxId
}

/** Sets the password and ends the link, and with it all sessions and tokens. @throws AppError 400, 410 */
export const choosePassword = (
  accounts: Accounts,
  { qxId, token, password, act }: { qxId: string; token: string; password: string; act: Act },
): Promise<void> =>
  accounts.setPassword(qxId, password, {
    act,
    async first(trx) {
      if (!(await consumePasswordLink(trx, hashOf(token)))) throw passwordLinkOver()
    },
  })
