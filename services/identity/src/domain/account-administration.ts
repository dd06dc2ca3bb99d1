import { randomBytes } from 'node:crypto'
import type { Act } from '@atrium/access'
import { noSuchAccount, ownAccount } from '../errors.ts'
import type { Mailer } from '../ports.ts'
import { type AccountChange, type AccountListQuery, findAccount, listAccounts } from '../queries/accounts.ts'
import type { AccountRow, IdentityDatabase } from '../queries/tables.ts'
import type { Account, Accounts } from './accounts.ts'
import { givePasswordLink } from './password-links.ts'

/** An account, and the link by which its person chooses a password; undefined where that went out by mail. */
export interface AccountWithLink {
  readonly account: Account
  readonly link: { readonly address: string | undefined; readonly expiresAt: Date }
}

/** What superusers do with other people's accounts. */
export interface AccountAdministration {
  list(query: AccountListQuery): Promise<{ accounts: Account[]; total: number }>
  /** @throws AppError 404 */
  get(qxId: string): Promise<Account>
  /** The person chooses the first password by a link. @throws AppError 400, 409, 502 */
  create(account: { qxId: string; name: string; mailAddress?: string }, act: Act): Promise<AccountWithLink>
  /** @throws AppError 400, 404, 409 for disabling the account of the one who acts, 412 */
  change(qxId: string, change: AccountChange, act: Act, versions?: readonly number[]): Promise<Account>
  /** A link for another password; the old one works until the link is used. @throws AppError 404, 502 */
  resetPassword(qxId: string, act: Act): Promise<AccountWithLink>
}

export function createAccountAdministration(deps: {
  db: IdentityDatabase
  accounts: Accounts
  mail: Mailer | undefined
  /** The page on which a password is chosen. */
  passwordPage: string
}): AccountAdministration {
  const { db, accounts, mail } = deps

  /** Last in its transaction: no link goes out that is not kept. */
  async function handOutLink(trx: IdentityDatabase, account: Account): Promise<AccountWithLink> {
    const { token, expiresAt } = await givePasswordLink(trx, account.qxId)
    const address = `${deps.passwordPage}?token=${token}`
    if (mail === undefined || account.mailAddress === '') return { account, link: { address, expiresAt } }
    await mail.sendPasswordLink({ to: account.mailAddress, qxId: account.qxId, link: address })
    return { account, link: { address: undefined, expiresAt } }
  }

  const found = (account: Account | undefined, qxId: string): Account => {
    if (account === undefined) throw noSuchAccount(qxId)
    return account
  }

  return {
    async list(query) {
      const { rows, total } = await listAccounts(db, query)
      return { accounts: rows.map(accounts.present), total }
    },
    get: async (qxId) => found(await accounts.find(qxId), qxId),
    async create(input, act) {
      // Nobody knows this one, so the account opens by the link alone.
      const password = randomBytes(32).toString('base64url')
      const create = await accounts.prepare({ ...input, password }, act)
      return db.transaction().execute(async (trx) => handOutLink(trx, await create(trx)))
    },
    async change(qxId, change, act, versions) {
      if (change.disabled === true && act.kind === 'user' && act.qxId === qxId) throw ownAccount()
      return accounts.change(qxId, change, act, versions)
    },
    resetPassword: (qxId, act) =>
      db.transaction().execute(async (trx) => {
        const row: AccountRow | undefined = await findAccount(trx, qxId)
        const account = found(row && accounts.present(row), qxId)
        await accounts.note(trx, qxId, act, { passwordLink: 'given' })
        return handOutLink(trx, account)
      }),
  }
}
