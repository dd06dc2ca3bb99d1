import { isUniqueViolation } from '@atrium/kernel/db'
import { invalidInput } from '@atrium/kernel/errors'
import { hash, verify } from '@node-rs/argon2'
import { accountExists, noSuchAccount } from '../errors.ts'
import { anyAccount, findAccount, insertAccount, updatePasswordHash } from '../queries/accounts.ts'
import type { AccountRow, IdentityDatabase } from '../queries/tables.ts'

export interface Account {
  readonly qxId: string
  readonly name: string
  readonly mailAddress: string
  readonly version: number
  readonly passwordChangedAt: Date
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** People who sign in at the embedded issuer. Passwords are kept as argon2id hashes only. */
export interface Accounts {
  /** @throws AppError 400 for a bad password or id, 409 when the id is taken */
  create(account: { qxId: string; name: string; password: string; mailAddress?: string }): Promise<Account>
  /** @throws AppError 400, 404 */
  setPassword(qxId: string, password: string): Promise<void>
  /** The account when the password is right. Takes as long for an account that does not exist. */
  verifyPassword(qxId: string, password: string): Promise<Account | undefined>
  find(qxId: string): Promise<Account | undefined>
  /** Whether there is any account at all. */
  any(): Promise<boolean>
}

/** OWASP's first choice for argon2id: 19 MiB, two passes, one lane; about 25 ms. The library's default variant is argon2id. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const
const SHORTEST = 8
const LONGEST = 256

const present = (row: AccountRow): Account => ({
  qxId: row.qx_id,
  name: row.name,
  mailAddress: row.mail_address,
  version: row.version,
  passwordChangedAt: row.password_changed_at,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

function checkPassword(password: string): void {
  if (password.length < SHORTEST || password.length > LONGEST) {
    throw invalidInput('password', `must have ${SHORTEST} to ${LONGEST} characters`)
  }
}

/** Ids that can be stored; anything else is nobody. */
export const isQxId = (text: string): boolean => /^[^\s\p{Cc}](?:[^\p{Cc}]{0,126}[^\s\p{Cc}])?$/u.test(text)

export function createAccounts(db: IdentityDatabase): Accounts {
  let decoy: Promise<string> | undefined

  const find = async (qxId: string): Promise<AccountRow | undefined> =>
    isQxId(qxId) ? findAccount(db, qxId) : undefined

  return {
    async create({ qxId, name, password, mailAddress = '' }) {
      if (!isQxId(qxId)) throw invalidInput('qxId', 'must be 1 to 128 characters without control characters')
      if (name.includes('\0')) throw invalidInput('name', 'must not contain the NUL character (U+0000)')
      checkPassword(password)
      const passwordHash = await hash(password, COST)
      try {
        return present(await insertAccount(db, { qxId, name, mailAddress, passwordHash }))
      } catch (error) {
        if (isUniqueViolation(error)) throw accountExists(qxId)
        throw error
      }
    },
    async setPassword(qxId, password) {
      checkPassword(password)
      const passwordHash = await hash(password, COST)
      const found = isQxId(qxId) && (await updatePasswordHash(db, qxId, passwordHash))
      if (!found) throw noSuchAccount(qxId)
    },
    async verifyPassword(qxId, password) {
      if (password.length > LONGEST) return undefined
      decoy ??= hash('nobody has this password', COST)
      const row = await find(qxId)
      const matches = await verify(row?.password_hash ?? (await decoy), password)
      return row !== undefined && matches ? present(row) : undefined
    },
    async find(qxId) {
      const row = await find(qxId)
      return row === undefined ? undefined : present(row)
    },
    any: () => anyAccount(db),
  }
}
