import { type Act, type AuditLog, isQxId, QX_ID_RULE, systemAct } from '@atrium/access'
import { isUniqueViolation } from '@atrium/kernel/db'
import { invalidInput, preconditionFailed } from '@atrium/kernel/errors'
import { KeyedSemaphore, Semaphore } from '@atrium/kernel/semaphore'
import { hasLength } from '@atrium/kernel/text'
import { hash, verify } from '@node-rs/argon2'
import { accountExists, noSuchAccount, tooBusy } from '../errors.ts'
import {
  type AccountChange,
  anyAccount,
  findAccount,
  insertAccount,
  lockAccount,
  updateAccount,
  updateDisabled,
  updatePasswordHash,
} from '../queries/accounts.ts'
import { deletePasswordLinks } from '../queries/password-links.ts'
import { announcePerson } from '../queries/people.ts'
import { ownTables, type RunningTransaction } from '../queries/principal-ids.ts'
import { endSessions } from '../queries/sessions.ts'
import type { AccountRow, IdentityDatabase } from '../queries/tables.ts'
import { claimPersonId } from './principal-ids.ts'

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

/**
 * People who sign in at the embedded issuer. Passwords are kept as argon2id hashes only. Every change is in the audit
 * log, by default as the platform's own act.
 */
export interface Accounts {
  /** @throws AppError 400 for a bad password or id, 409 when the id is taken */
  create(
    account: { qxId: string; name: string; password: string; mailAddress?: string },
    act?: Act,
  ): Promise<Account>
  /**
   * Ends all sessions and tokens, but for the one that is kept.
   * @throws AppError 400, 404
   */
  setPassword(
    qxId: string,
    password: string,
    by?: {
      act?: Act
      keepSessionId?: string | undefined
      /** Runs first in the transaction. */
      first?: (trx: IdentityDatabase) => Promise<void>
    },
  ): Promise<void>
  /** Disabling ends all sessions and tokens, in every process within a second. @throws AppError 404 */
  setDisabled(qxId: string, isDisabled: boolean, act?: Act): Promise<void>
  /** The account when it may sign in with this password. Takes as long for an account that does not exist. @throws AppError 503 */
  verifyPassword(qxId: string, password: string): Promise<Account | undefined>
  find(qxId: string): Promise<Account | undefined>
  /** Whether there is any account at all. */
  any(): Promise<boolean>
  /**
   * Checks and hashes beforehand what `create` does then in a transaction of the caller's.
   * @throws AppError 400; the function that is returned 409
   */
  prepare(
    account: { qxId: string; name: string; password: string; mailAddress?: string },
    act: Act,
  ): Promise<(trx: RunningTransaction, mailAddress?: string) => Promise<Account>>
  /** @param versions demanded by If-Match. @throws AppError 400, 404, 412 */
  change(qxId: string, change: AccountChange, act: Act, versions?: readonly number[]): Promise<Account>
  /** Notes in the audit log what else happens to an account. */
  note(trx: RunningTransaction, qxId: string, act: Act, after: object): Promise<void>
  present(row: AccountRow): Account
}

/** OWASP's first choice for argon2id: 19 MiB, two passes, one lane; about 25 ms. The library's default variant is argon2id. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const
/** The library's threads are four; a queue of this length is a few seconds' work. */
const AT_ONCE = 4
const WAITING = 200
/** Whoever sends one account's passwords all at once waits for themselves. */
const WAITING_FOR_ONE = 20
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
  !hasLength(password, SHORTEST, LONGEST) ? `must have ${SHORTEST} to ${LONGEST} characters` : undefined

function checkPassword(password: string): void {
  const fault = faultOfPassword(password)
  if (fault !== undefined) throw invalidInput('password', fault)
}

function checkName(name: string): void {
  if (!hasLength(name, 0, 200) || name.includes('\0')) {
    throw invalidInput('name', 'must have at most 200 characters, without U+0000')
  }
}

/** @throws AppError 400 for an id that nobody could have */
export function checkQxId(qxId: string): void {
  if (!isQxId(qxId)) throw invalidInput('qxId', `must ${QX_ID_RULE}`)
}

/** Ids that can be stored, older rules included; anything else is nobody. */
const isStorable = (text: string): boolean => /^[^\p{Cc}]{1,128}$/u.test(text)

/** The resource of an entry of the audit log. */
const changed = (qxId: string) => ({ spaceId: null, resourceType: 'account', resourceId: qxId })

/** @param onChange called with the person whose tokens may have ended, once that is committed */
export function createAccounts(
  db: IdentityDatabase,
  audit: AuditLog,
  onChange: (qxId: string) => void,
): Accounts {
  let decoy: Promise<string> | undefined
  const hashing = new Semaphore(AT_ONCE, { most: WAITING, refusal: tooBusy })
  const ofAccounts = new KeyedSemaphore(1, { most: WAITING_FOR_ONE, refusal: tooBusy })

  const find = async (qxId: string): Promise<AccountRow | undefined> =>
    isStorable(qxId) ? findAccount(db, qxId) : undefined

  /** Runs `change` in a transaction that ends with telling every process. */
  async function changing(qxId: string, change: (trx: IdentityDatabase) => Promise<void>): Promise<void> {
    if (!isStorable(qxId)) throw noSuchAccount(qxId)
    await db.transaction().execute(async (trx) => {
      await change(trx)
      await announcePerson(trx, qxId)
    })
    onChange(qxId)
  }

  const prepare: Accounts['prepare'] = async ({ qxId, name, password, mailAddress = '' }, act) => {
    checkQxId(qxId)
    checkName(name)
    checkPassword(password)
    const passwordHash = await hash(password, COST)
    return async (running, provenAddress = mailAddress) => {
      const trx = ownTables(running)
      await claimPersonId(running, qxId)
      if ((await findAccount(trx, qxId)) !== undefined) throw accountExists(qxId)
      const row = await insertAccount(trx, { qxId, name, mailAddress: provenAddress, passwordHash }).catch(
        (error: unknown) => {
          throw isUniqueViolation(error) ? accountExists(qxId) : error
        },
      )
      await audit.record(running, act, { ...changed(qxId), after: present(row) })
      return present(row)
    }
  }

  return {
    prepare,
    async create(account, act = systemAct('createAccount')) {
      const create = await prepare(account, act)
      return db.transaction().execute((trx) => create(trx))
    },
    change: async (qxId, change, act, versions) => {
      if (change.name !== undefined) checkName(change.name)
      await changing(qxId, async (trx) => {
        const before = await lockAccount(trx, qxId)
        if (before === undefined) throw noSuchAccount(qxId)
        if ((await updateAccount(trx, qxId, change, versions)) === undefined) throw preconditionFailed()
        if (change.disabled !== undefined) await updateDisabled(trx, qxId, change.disabled)
        if (change.disabled === true) await endSessions(trx, qxId, 'all')
        const after = await findAccount(trx, qxId)
        await audit.record(trx, act, {
          ...changed(qxId),
          before: present(before),
          after: after && present(after),
        })
      })
      const account = await find(qxId)
      if (account === undefined) throw noSuchAccount(qxId)
      return present(account)
    },
    note: (trx, qxId, act, after) => audit.record(trx, act, { ...changed(qxId), after }),
    present,
    async setPassword(qxId, password, { act = systemAct('setPassword'), keepSessionId, first } = {}) {
      checkPassword(password)
      const passwordHash = await hash(password, COST)
      await changing(qxId, async (trx) => {
        await first?.(trx)
        await deletePasswordLinks(trx, qxId)
        if (!(await updatePasswordHash(trx, qxId, passwordHash, new Date()))) throw noSuchAccount(qxId)
        const kept = keepSessionId === undefined ? 'all' : ({ except: keepSessionId } as const)
        const endedSessions = await endSessions(trx, qxId, kept)
        await audit.record(trx, act, { ...changed(qxId), after: { changed: ['password'], endedSessions } })
      })
    },
    setDisabled: (qxId, isDisabled, act = systemAct('setDisabled')) =>
      changing(qxId, async (trx) => {
        if (!(await updateDisabled(trx, qxId, isDisabled))) throw noSuchAccount(qxId)
        const endedSessions = isDisabled ? await endSessions(trx, qxId, 'all') : 0
        await audit.record(trx, act, { ...changed(qxId), after: { isDisabled, endedSessions } })
      }),
    async verifyPassword(qxId, password) {
      if (!hasLength(password, 0, LONGEST)) return undefined
      decoy ??= hash('nobody has this password', COST)
      const row = await find(qxId)
      const known = row?.password_hash ?? (await decoy)
      const matches = await ofAccounts.run(qxId, () => hashing.run(() => verify(known, password)))
      return row !== undefined && row.disabled_at === null && matches ? present(row) : undefined
    },
    async find(qxId) {
      const row = await find(qxId)
      return row === undefined ? undefined : present(row)
    },
    any: () => anyAccount(db),
  }
}
