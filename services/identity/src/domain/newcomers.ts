import type { Act } from '@atrium/access'
import { userNameTaken } from '../errors.ts'
import { claimId, ownTables, type RunningTransaction } from '../queries/principal-ids.ts'
import type { Accounts } from './accounts.ts'

/** What identity asks of the portal, whose invitations are. */
export interface InvitationPort {
  /** What a token invites to. @throws AppError 400, 410 */
  open(token: string): Promise<{ spaceName: string }>
  /**
   * Accepts for somebody who has no account yet: `make` runs in the same transaction, before the person's record is
   * touched.
   * @throws AppError 400, 403, 409, 410
   */
  acceptAsNewcomer(
    token: string,
    act: Act,
    make: (trx: RunningTransaction, invitation: Proof) => Promise<void>,
  ): Promise<void>
}

export interface Proof {
  /** Proven by the mail that brought the token; undefined where the token was handed over otherwise. */
  readonly mailAddress: string | undefined
  /** Whether the portal knew the person before, by that very address. */
  readonly isKnownByMail: boolean
}

export interface NewcomerInvitations {
  open(token: string): Promise<{ spaceName: string }>
  /** @throws AppError 400, 403, 409, 410 */
  accept(token: string, newcomer: { qxId: string; name: string; password: string }, act: Act): Promise<void>
}

/** Invited people make their account themselves: a name that nobody has, or the one that the mail proves to be theirs. */
export const createNewcomerInvitations = (
  accounts: Accounts,
  portal: () => InvitationPort,
): NewcomerInvitations => ({
  open: (token) => portal().open(token),
  async accept(token, newcomer, act) {
    const create = await accounts.prepare(newcomer, act)
    await portal().acceptAsNewcomer(token, act, async (trx, { mailAddress, isKnownByMail }) => {
      const isTaken = (await claimId(ownTables(trx), newcomer.qxId, 'person')) !== undefined
      if (isTaken && !isKnownByMail) throw userNameTaken(newcomer.qxId)
      await create(trx, mailAddress ?? '')
    })
  },
})
