import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { callerGone } from './errors.ts'
import { KeyedSemaphore } from './semaphore.ts'
import { Turns, type WaitingRoom } from './turns.ts'

/** Requests that begin in a round of the event loop: few enough that nobody notices them, enough to fill it. */
const REQUESTS_A_ROUND = 8
/** Large pieces of work, such as parsing a body of a megabyte: each takes milliseconds. */
const PIECES_A_ROUND = 1
/** Large reads of the database that a tenant has under way. */
const READS_AT_ONCE = 1

/**
 * Large bodies of a tenant that are parsed in a second while others are there: what they leave behind is collected while
 * everybody waits, tens of milliseconds for each hundred megabytes.
 */
const BODY_BYTES_A_SECOND = 16 * 1024 * 1024
/** Whoever sent nothing for so long is not there. */
const PRESENT_MS = 10_000

/** How the tenants of a process take turns. */
export class TenantTurns {
  readonly requests: Turns
  readonly pieces = new Turns(PIECES_A_ROUND)
  readonly reads = new KeyedSemaphore(READS_AT_ONCE)
  readonly bodies = new KeyedSemaphore(1)
  #last: string | undefined
  #changedAt = Number.NEGATIVE_INFINITY

  constructor(room: WaitingRoom) {
    this.requests = new Turns(REQUESTS_A_ROUND, room)
  }

  /** A tenant sent a request. */
  note(tenant: string): void {
    if (tenant === this.#last) return
    if (this.#last !== undefined) this.#changedAt = performance.now()
    this.#last = tenant
  }

  /** Whether requests of more than one tenant came lately. */
  get isShared(): boolean {
    return performance.now() - this.#changedAt < PRESENT_MS
  }
}

/** One request, and for whom it works; what is asked of the database on its way is counted as theirs. */
export interface TenantWork {
  /** Undefined until the caller is known: what that takes is nobody's. */
  tenant: string | undefined
  /** Database connections that it holds now. */
  held: number
  /** It was answered; what it set off goes on for everybody. */
  isOver: boolean
  readonly turns: TenantTurns
}

const works = new AsyncLocalStorage<TenantWork>()
const ofRequests = new WeakMap<object, TenantWork>()

/** It must not lead back to its request, which would then outlive every young collection: contexts hold it for long. */
export function newTenantWork(request: object, turns: TenantTurns): TenantWork {
  const work: TenantWork = { tenant: undefined, held: 0, isOver: false, turns }
  ofRequests.set(request, work)
  return work
}

/** What a request works for, also where nothing tells that something belongs to it. */
export const workOf = (request: object): TenantWork | undefined => ofRequests.get(request)

type OnGone = (leave: () => void) => void

/** Calls back when the caller hangs up. */
export const hangUpOf =
  (request: IncomingMessage, response: ServerResponse): OnGone =>
  (leave) => {
    response.once('close', leave)
    // The end of the caller's sending alone closes no answer; a request that is read to its end closes, too.
    request.once('close', () => {
      if (request.errored !== null) leave()
    })
  }

/** Everything that `run` sets off belongs to this work. */
export const runAsWork = <T>(work: TenantWork, run: () => T): T => works.run(work, run)

/** The request that is worked on. */
export const currentWork = (): TenantWork | undefined => works.getStore()

/** The same, when its tenant is known. */
export function workUnderWay(): TenantWork | undefined {
  const work = currentWork()
  return work?.tenant === undefined || work.isOver ? undefined : work
}

/**
 * From here on, the request works for this tenant: a space, or a caller where no space is meant.
 * @returns undefined when it may go on at once, else what resolves when it is its turn
 * @throws AppError 503 when too many requests wait, 499 when the caller hangs up meanwhile
 */
export function workFor(
  work: TenantWork | undefined,
  tenant: string,
  onGone: OnGone,
): Promise<void> | undefined {
  if (work === undefined) return undefined
  work.tenant = tenant
  work.turns.note(tenant)
  // Whoever is alone waits for nobody: rounds with few requests in them cost throughput.
  if (!work.turns.isShared) return undefined
  const turn = work.turns.requests.take(tenant, onGone)
  return turn === undefined ? undefined : whenItComes(turn)
}

async function whenItComes(turn: Promise<boolean>): Promise<void> {
  if (!(await turn)) throw callerGone()
}

/**
 * Waits for a tenant's turn to do a piece of work that takes milliseconds.
 * @returns undefined when it may be done at once
 */
export function turnForPiece(work = workUnderWay()): Promise<unknown> | undefined {
  return work?.turns.pieces.take(work.tenant ?? '')
}

/** Reads much of the database: a tenant's large reads wait for each other. */
export async function readLarge<T>(read: () => Promise<T>, work = workUnderWay()): Promise<T> {
  return work?.tenant === undefined ? read() : work.turns.reads.run(work.tenant, read)
}

/** Parses a large body: a tenant's one after the other, and while others are there with a rest as long as its size asks. */
export function parseAtPace<T>(
  bytes: number,
  parse: () => Promise<T>,
  work: TenantWork | undefined,
): Promise<T> {
  if (work === undefined) return parse()
  return new Promise((resolve, reject) => {
    void work.turns.bodies.run(work.tenant ?? '', async () => {
      await parse().then(resolve, reject)
      if (work.turns.isShared) await rest(bytes)
    })
  })
}

const rest = (bytes: number): Promise<void> =>
  delay((bytes / BODY_BYTES_A_SECOND) * 1000, undefined, { ref: false })
