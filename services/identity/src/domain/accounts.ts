import { isUniqueViolation } from '@atrium/kernel/db'
import { invalidInput } from '@atrium/kernel/errors'
import { hash, verify } from '@node-rs/argon2'
import { accountExists, noSuchAccount } from '../errors.ts'
import {
  anyAccount,
  findAccount,
  insertAccount,
  updateDisabled,
  updatePasswordHash,
} from '../queries/accounts.ts'
import { announcePerson } from '../queries/people.ts'
import { endSessions } from '../queries/sessions.ts'
import type { AccountRow, IdentityDatabase } from '../queries/tables.ts'
import { createTurns } from './turns.ts'

export interface Account {
  readonly qxId: string
  readonly name: string
  readonly mailAddress: string
  /** Neither signs in nor keeps a token. */
  readonly isDisabled: boolean
  readonly version: number
  readonly passwordChangedAt: Date
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** People who sign in at the embedded issuer. Passwords are kept as argon2id hashes only. */
export interface Accounts {
  /** @throws AppError 400 for a bad password or id, 409 when the id is taken */
  create(account: { qxId: string; name: string; password: string; mailAddress?: string }): Promise<Account>
  /**
   * Ends all sessions and tokens, but for the one given.
   * @throws AppError 400, 404
   */
  setPassword(qxId: string, password: string, keepSessionId?: string): Promise<void>
  /** Disabling ends all sessions and tokens, in every process within a second. @throws AppError 404 */
  setDisabled(qxId: string, isDisabled: boolean): Promise<void>
  /** The account when it may sign in with this password. Takes as long for an account that does not exist. @throws AppError 503 */
  verifyPassword(qxId: string, password: string): Promise<Account | undefined>
  find(qxId: string): Promise<Account | undefined>
  /** Whether there is any account at all. */
  any(): Promise<boolean>
}

/** OWASP's first choice for argon2id: 19 MiB, two passes, one lane; about 25 ms. The library's default variant is argon2id. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const
/** The library's threads are four; a queue of this length is a few seconds' work. */
const AT_ONCE = 4
const WAITING = 200
const SHORTEST = 8
const LONGEST = 256

const present = (row: AccountRow): Account => ({
  qxId: row.qx_id,
  name: row.name,
  mailAddress: row.mail_address,
  isDisabled: row.disabled_at !== null,
  version: row.version,
  passwordChangedAt: row.password_changed_at,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

/** What is wrong with a new password; undefined when nothing is. */
export const faultOfPassword = (password: string): string | undefined =>
  password.length < SHORTEST || password.length > LONGEST
    ? `must have ${SHORTEST} to ${LONGEST} characters`
    : undefined

function checkPassword(password: string): void {
  const fault = faultOfPassword(password)
  if (fault !== undefined) throw invalidInput('password', fault)
}

/** Ids that can be stored; anything else is nobody. */
export const isQxId = (text: string): boolean => /^[^\s\p{Cc}](?:[^\p{Cc}]{0,126}[^\s\p{Cc}])?$/u.test(text)

/** @param onChange called with the person whose tokens may have ended, once that is committed */
export function createAccounts(db: IdentityDatabase, onChange: (qxId: string) => void): Accounts {
  let decoy: Promise<string> | undefined
  const inTurn = createTurns(AT_ONCE, WAITING)

  const find = async (qxId: string): Promise<AccountRow | undefined> =>
    isQxId(qxId) ? findAccount(db, qxId) : undefined

  /** Runs `change` in a transaction that ends with telling every process. */
  async function changing(qxId: string, change: (trx: IdentityDatabase) => Promise<void>): Promise<void> {
    if (!isQxId(qxId)) throw noSuchAccount(qxId)
    await db.transaction().execute(async (trx) => {
      await change(trx)
      await announcePerson(trx, qxId)
    })
    onChange(qxId)
  }

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
    async setPassword(qxId, password, keepSessionId) {
      checkPassword(password)
      const passwordHash = await hash(password, COST)
      await changing(qxId, async (trx) => {
        if (!(await updatePasswordHash(trx, qxId, passwordHash, new Date()))) throw noSuchAccount(qxId)
        await endSessions(trx, qxId, keepSessionId === undefined ? 'all' : { except: keepSessionId })
      })
    },
    setDisabled: (qxId, isDisabled) =>
      changing(qxId, async (trx) => {
        if (!(await updateDisabled(trx, qxId, isDisabled))) throw noSuchAccount(qxId)
        if (isDisabled) await endSessions(trx, qxId, 'all')
      }),
    async verifyPassword(qxId, password) {
      if (password.length > LONGEST) return undefined
      decoy ??= hash('nobody has this password', COST)
      const row = await find(qxId)
      const known = row?.password_hash ?? (await decoy)
      const matches = await inTurn(() => verify(known, password))
      return row !== undefined && row.disabled_at === null && matches ? present(row) : undefined
    },
    async find(qxId) {
      const row = await find(qxId)
      return row === undefined ? undefined : present(row)
    },
    any: () => anyAccount(db),
  }
}
