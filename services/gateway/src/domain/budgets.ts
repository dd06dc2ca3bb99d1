import { isUnavailable } from '@atrium/kernel/errors'
import { newId } from '@atrium/kernel/ids'
import { every } from '@atrium/kernel/lifecycle'
import type { Logger } from '@atrium/kernel/log'
import { budgetReserved, budgetUsedUp } from '../errors.ts'
import type { BudgetLeases, BudgetSubject, KeyHolder, UsageRow } from '../ports.ts'
import { decimalOfPico, picoOfDecimal } from './price.ts'

const KEEP_EVERY_MS = 1000
/** A lease is not relied on for so long before it ends: clocks and answers take their time. */
const MARGIN_MS = 5000

/** What a call may cost is set aside until it is known what it did cost. Amounts are pico-units of the currency. */
export class Reservation {
  readonly #ledgers: readonly Ledger[]
  readonly #most: bigint
  #isOpen = true

  constructor(ledgers: readonly Ledger[], most: bigint) {
    this.#ledgers = ledgers
    this.#most = most
  }

  /** What the call cost; it counts until it is recorded. */
  settle(pico: bigint): void {
    this.release()
    for (const ledger of this.#ledgers) ledger.unrecorded += pico
  }

  /** The call is over. Once it was settled, this changes nothing. */
  release(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    for (const ledger of this.#ledgers) ledger.open -= this.#most
  }
}

interface Waiter {
  readonly most: bigint
  admit(): void
  refuse(error: unknown): void
}

/** This process's part of one budget. */
class Ledger {
  readonly subject: BudgetSubject
  /** What may be spent without asking the database. */
  leased = 0n
  /** Set aside for calls under way. */
  open = 0n
  /** Spent, but not yet in the database's sum. */
  unrecorded = 0n
  goodUntilMs = 0
  wasUsed = true
  isLowered = false
  waiting: Waiter[] = []
  isAsking = false
  /** Recorded since the question that is on its way was put: what it said to be in use may count that as well. */
  recordedMeanwhile = 0n

  constructor(subject: BudgetSubject) {
    this.subject = subject
  }

  get id(): string {
    return this.subject.keyId ?? this.subject.spaceId
  }

  get whose(): 'key' | 'space' {
    return this.subject.keyId === null ? 'space' : 'key'
  }

  /** Whether a call fits into the lease; one alone may exceed what is left, for else a rest could never be spent. */
  admits(most: bigint): boolean {
    const rest = this.leased - this.unrecorded
    return most <= rest - this.open || (this.open === 0n && rest > 0n)
  }

  /** What is in the database's sum is no longer this process's to keep. */
  record(pico: bigint): void {
    // What was spent before there was a budget was never set aside of it.
    if (pico > this.unrecorded) pico = this.unrecorded
    this.unrecorded -= pico
    this.leased -= pico
    this.recordedMeanwhile += pico
    this.isLowered = true
  }

  fits(most: bigint): boolean {
    return most <= this.leased - this.unrecorded - this.open && performance.now() < this.goodUntilMs
  }
}

/**
 * Lets calls in while the most that they can cost is left of the budgets of their key and space. What is left is shared by
 * all processes: each leases a part of it, which the others see as spent. Calls of keys without a budget never come here.
 */
export class Budgets {
  readonly #leases: BudgetLeases
  readonly #log: Logger
  readonly #holder = newId()
  readonly #ledgers = new Map<string, Ledger>()
  readonly #stop: () => Promise<void>
  #keeping: Promise<void> | undefined

  constructor({ leases, log }: { leases: BudgetLeases; log: Logger }) {
    this.#leases = leases
    this.#log = log
    this.#stop = every(
      KEEP_EVERY_MS,
      () => this.#keep(),
      (err) => {
        if (!isUnavailable(err)) log.warn({ err }, 'leases of budgets could not be kept; trying again')
      },
    )
  }

  /**
   * Sets aside the most that a call can cost, of the key's budget and of its space's, where they have one.
   * @throws AppError 429 when it is used up or set aside for other calls, 503 when the database is away
   */
  async reserve(
    { keyId, spaceId, hasBudget, spaceHasBudget }: KeyHolder,
    most: bigint,
  ): Promise<Reservation> {
    const ledgers: Ledger[] = []
    try {
      if (hasBudget === true) ledgers.push(await this.#admitted({ spaceId, keyId }, most))
      if (spaceHasBudget === true) ledgers.push(await this.#admitted({ spaceId, keyId: null }, most))
    } catch (error) {
      new Reservation(ledgers, most).release()
      throw error
    }
    return new Reservation(ledgers, most)
  }

  /** These costs are in the database's sums now, with which budgets are compared. */
  recorded(rows: readonly UsageRow[]): void {
    if (this.#ledgers.size === 0) return
    for (const { keyId, spaceId, cost } of rows) {
      const pico = picoOfDecimal(cost)
      for (const id of [keyId, spaceId]) this.#ledgers.get(id)?.record(pico)
    }
  }

  async #admitted(subject: BudgetSubject, most: bigint): Promise<Ledger> {
    const id = subject.keyId ?? subject.spaceId
    let ledger = this.#ledgers.get(id)
    if (ledger === undefined) {
      ledger = new Ledger(subject)
      this.#ledgers.set(id, ledger)
    }
    ledger.wasUsed = true
    if (ledger.waiting.length === 0 && ledger.fits(most)) {
      ledger.open += most
      return ledger
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    ledger.waiting.push({ most, admit: resolve, refuse: reject })
    if (!ledger.isAsking) void this.#askFor(ledger)
    await promise
    return ledger
  }

  /** Decides on all who wait: one question for those who came while the last one was on its way. */
  async #askFor(ledger: Ledger): Promise<void> {
    ledger.isAsking = true
    while (ledger.waiting.length > 0) {
      await this.#keeping
      const waiting = ledger.waiting
      ledger.waiting = []
      const needed = waiting.reduce((sum, { most }) => sum + most, 0n)
      const askedAtMs = performance.now()
      ledger.recordedMeanwhile = 0n
      try {
        const inUse = decimalOfPico(ledger.open + ledger.unrecorded)
        const ask = { inUse, needed: decimalOfPico(needed) }
        const lease = await this.#leases.lease(this.#holder, ledger.subject, ask)
        // Where the database had counted it already, this is too little until the next question.
        ledger.leased = lease === undefined ? 0n : picoOfDecimal(lease.amount) - ledger.recordedMeanwhile
        ledger.goodUntilMs = askedAtMs + this.#leases.seconds * 1000 - MARGIN_MS
        for (const waiter of waiting) {
          // Without a budget by now, everything is let in.
          if (lease === undefined || ledger.admits(waiter.most)) {
            ledger.open += waiter.most
            waiter.admit()
          } else if (picoOfDecimal(lease.left) <= 0n) waiter.refuse(budgetUsedUp(ledger.whose))
          else waiter.refuse(budgetReserved(ledger.whose))
        }
      } catch (error) {
        for (const waiter of waiting) waiter.refuse(error)
      }
    }
    ledger.isAsking = false
  }

  #keep(): Promise<void> {
    const kept: Ledger[] = []
    const leases: (BudgetSubject & { amount: string })[] = []
    for (const ledger of this.#ledgers.values()) {
      if (ledger.isAsking) continue
      const isIdle = !ledger.wasUsed && ledger.open === 0n && ledger.unrecorded === 0n
      if (isIdle) this.#ledgers.delete(ledger.id)
      else if (!ledger.isLowered && ledger.goodUntilMs - performance.now() > 2 * MARGIN_MS) {
        ledger.wasUsed = false
        continue
      } else kept.push(ledger)
      ledger.wasUsed = false
      ledger.isLowered = false
      const amount = isIdle || ledger.leased < 0n ? 0n : ledger.leased
      leases.push({ ...ledger.subject, amount: decimalOfPico(amount) })
    }
    if (leases.length === 0) return Promise.resolve()
    const startedAtMs = performance.now()
    const keeping = this.#leases.keep(this.#holder, leases).then((ids) => {
      const still = new Set(ids)
      for (const ledger of kept) {
        if (still.has(ledger.id)) ledger.goodUntilMs = startedAtMs + this.#leases.seconds * 1000 - MARGIN_MS
        else ledger.leased = 0n
      }
    })
    this.#keeping = keeping
      .catch(() => {})
      .finally(() => {
        this.#keeping = undefined
      })
    return keeping
  }

  /** Gives back what is leased; with the database away, leases end by themselves. */
  async close(): Promise<void> {
    await this.#stop()
    await this.#leases
      .giveBack(this.#holder)
      .catch((err: unknown) => this.#log.warn({ err }, 'leases of budgets end by themselves'))
  }
}
