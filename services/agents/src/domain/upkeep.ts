import { randomUUID } from 'node:crypto'
import type { Logger } from '@atrium/kernel/log'
import { LRUCache } from 'lru-cache'
import { readTerms } from '../adapters/lancedb/embedding-table.ts'
import { type Retrieval, tableNameOf } from '../adapters/lancedb/retrieval.ts'
import { stateOf, type Use, upkeepFor } from '../adapters/upkeep/state.ts'
import type { UpkeepWorker } from '../adapters/upkeep/upkeep-worker.ts'
import type { AgentsDb } from '../queries/tables.ts'
import {
  type Lease,
  noteSearch,
  releaseLease,
  renewLease,
  retrievalOwner,
  SEARCHED_SECONDS,
  selectDueStores,
  takeLease,
  type Written,
} from '../queries/upkeep.ts'
import {
  removeDeletedVectorStore,
  type StoreKey,
  selectDeletingVectorStores,
  selectExistingStores,
  selectVectorStore,
} from '../queries/vector-stores.ts'
import type { Vocabulary } from './keyword/vocabulary.ts'

export interface UpkeepDeps {
  readonly db: AgentsDb
  readonly retrieval: Retrieval
  readonly worker: UpkeepWorker
  readonly vocabulary: Vocabulary
  readonly log: Logger
  /** For tests. */
  readonly timing?: Partial<UpkeepTiming>
}

export interface UpkeepTiming {
  /** How long after a write its store is looked at, in milliseconds. */
  readonly lookAfterMs: number
  /** A store that nobody has written to for so long is at rest. */
  readonly restMs: number
  /** Who does not renew a lease for so long has died. */
  readonly leaseSeconds: number
  /** Files of old versions stay for readers that began with them. */
  readonly pruneAfterSeconds: number
}

const TIMING: UpkeepTiming = { lookAfterMs: 300, restMs: 3000, leaseSeconds: 30, pruneAfterSeconds: 600 }
/** Deleted share of a store from which words that nothing holds any more are looked for. */
const FORGET_SHARE = 0.2
/** How often a store's searches are noted, in milliseconds. */
const NOTE_SEARCHES_MS = 5000
/** Stores that one run of the background job sees to. */
const STORES_A_RUN = 100

interface Watched {
  readonly key: StoreKey
  lastWrite: number
  isSearched: boolean
  timer: NodeJS.Timeout | undefined
  isBusy: boolean
}

/** Keeps the files of stores fit to be searched: indexes what was written, compacts, deletes what nobody needs. */
export class Upkeep {
  readonly #deps: UpkeepDeps
  readonly #timing: UpkeepTiming
  readonly #watched = new Map<string, Watched>()
  /** When a search of a store was last noted. */
  readonly #searched = new LRUCache<string, number>({ max: 10_000 })
  #isClosed = false
  #sweeping: Promise<void> | undefined
  #isSweepDue = false
  readonly #looks = new Set<Promise<unknown>>()

  constructor(deps: UpkeepDeps) {
    this.#deps = deps
    this.#timing = { ...TIMING, ...deps.timing }
  }

  /** A store was written to by this process. */
  noteWrite(key: StoreKey, { isSearched }: Written): void {
    if (this.#isClosed) return
    let watched = this.#watched.get(key.vectorStoreId)
    if (watched === undefined) {
      watched = { key, lastWrite: 0, isSearched, timer: undefined, isBusy: false }
      this.#watched.set(key.vectorStoreId, watched)
    }
    watched.lastWrite = Date.now()
    watched.isSearched = isSearched
    this.#lookLater(watched, this.#timing.lookAfterMs)
  }

  /** Whether a store is being searched, by this process or, as far as its last write told, by another. */
  isSearched(key: StoreKey): boolean {
    const noted = this.#searched.get(key.vectorStoreId) ?? 0
    return (
      Date.now() - noted < SEARCHED_SECONDS * 1000 ||
      this.#watched.get(key.vectorStoreId)?.isSearched === true
    )
  }

  /** A store is being searched by this process. */
  noteSearch(key: StoreKey): void {
    const now = Date.now()
    if (now - (this.#searched.get(key.vectorStoreId) ?? 0) < NOTE_SEARCHES_MS) return
    this.#searched.set(key.vectorStoreId, now)
    void noteSearch(this.#deps.db, key).catch((error: unknown) =>
      this.#warn(error, 'noting a search failed', key),
    )
  }

  /** Deletes files without a store, soon. */
  sweepSoon(): void {
    this.#isSweepDue = true
    if (!this.#isClosed) this.#sweeping ??= this.#sweepWhileDue()
  }

  async #sweepWhileDue(): Promise<void> {
    while (this.#isSweepDue && !this.#isClosed) {
      this.#isSweepDue = false
      await this.sweep().catch((error: unknown) => this.#warn(error, 'sweeping vector stores failed'))
    }
    this.#sweeping = undefined
  }

  /** Ends deletions that a crash broke off, and deletes files of stores that are not there. */
  async sweep(): Promise<void> {
    const { db, retrieval } = this.#deps
    for (const key of await selectDeletingVectorStores(db)) {
      if (await this.#drop(key)) await removeDeletedVectorStore(db, key)
    }
    if (!(await this.#isOurPlace())) return
    for await (const keys of retrieval.storesWithFiles()) {
      if (this.#isClosed) return
      // A store's row is always older than its files, so files without one are nobody's.
      const existing = await selectExistingStores(
        db,
        keys.map(({ vectorStoreId }) => vectorStoreId),
      )
      for (const key of keys) if (!existing.has(key.vectorStoreId)) await this.#drop(key)
    }
  }

  /** @returns whether the files are gone; one store's trouble is not the others' */
  async #drop(key: StoreKey): Promise<boolean> {
    try {
      return await this.#deps.retrieval.drop(key)
    } catch (error) {
      this.#warn(error, 'files of a deleted vector store remain for now', key)
      return false
    }
  }

  /** Whether no other database's stores have their files here as well. */
  async #isOurPlace(): Promise<boolean> {
    const { db, retrieval, log } = this.#deps
    const mine = await retrievalOwner(db)
    const others = (await retrieval.owners(mine)).filter((owner) => owner !== mine)
    if (others.length > 0) {
      log.error(
        { mine, others },
        'embeddings of another database lie in the place of this one’s: give each its own ATRIUM_RETRIEVAL_URI. Files without a store are not deleted until then.',
      )
    }
    return others.length === 0
  }

  /** Sees to stores that are due and that nobody works on, as after a crash. */
  async runDue(signal: AbortSignal): Promise<void> {
    for (const key of await selectDueStores(this.#deps.db, STORES_A_RUN)) {
      if (signal.aborted || this.#isClosed) return
      if (this.#watched.has(key.vectorStoreId)) continue
      await this.#lookAt(key, 'resting').catch((error: unknown) =>
        this.#warn(error, 'upkeep of a vector store failed', key),
      )
    }
  }

  /** Looks at nothing any more, and gives back what it was at. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const { timer } of this.#watched.values()) clearTimeout(timer)
    this.#watched.clear()
    await this.#deps.worker.close()
    await Promise.allSettled(this.#looks)
    await this.#sweeping
  }

  #warn(error: unknown, message: string, key?: StoreKey): void {
    if (!this.#isClosed) this.#deps.log.warn({ err: error, ...key }, message)
  }

  #lookLater(watched: Watched, ms: number): void {
    if (watched.timer !== undefined || watched.isBusy || this.#isClosed) return
    watched.timer = setTimeout(() => void this.#look(watched), ms)
    watched.timer.unref()
  }

  async #look(watched: Watched): Promise<void> {
    watched.timer = undefined
    watched.isBusy = true
    const restsFor = Date.now() - watched.lastWrite
    const isResting = restsFor >= this.#timing.restMs
    const use = isResting ? 'resting' : watched.isSearched ? 'serving' : 'loading'
    const isSeenTo = await this.#lookAt(watched.key, use).catch((error: unknown) => {
      this.#warn(error, 'upkeep of a vector store failed', watched.key)
      return true
    })
    watched.isBusy = false
    if (Date.now() - watched.lastWrite < restsFor) this.#lookLater(watched, this.#timing.lookAfterMs)
    else if (!isResting) this.#lookLater(watched, this.#timing.restMs - restsFor)
    // Another process may have looked before the last rows came.
    else if (!isSeenTo) this.#lookLater(watched, this.#timing.restMs)
    else this.#watched.delete(watched.key.vectorStoreId)
  }

  /** Does what a store needs. @returns false while another process is at it */
  async #lookAt(key: StoreKey, use: Use): Promise<boolean> {
    const look = this.#lookAlone(key, use)
    this.#looks.add(look)
    return look.finally(() => this.#looks.delete(look))
  }

  async #lookAlone(key: StoreKey, use: Use): Promise<boolean> {
    const { db, retrieval } = this.#deps
    const { leaseSeconds } = this.#timing
    if ((await retrieval.find(key)) === undefined || this.#isClosed) return true
    const holder = randomUUID()
    const lease = await takeLease(db, key, holder, leaseSeconds)
    if (lease === undefined) return (await selectVectorStore(db, key)) === undefined
    const renewal = setInterval(
      () => void renewLease(db, key, holder, leaseSeconds).catch(() => {}),
      (leaseSeconds * 1000) / 3,
    )
    renewal.unref()
    let done = { builtRows: lease.built_rows, hasRun: false }
    let deletions = 0
    let isSeenTo = false
    try {
      done = await this.#maintain(key, lease, use)
      deletions = await this.#forgetWords(key, lease)
      isSeenTo = use === 'resting'
    } finally {
      clearInterval(renewal)
      await this.#release(key, holder, lease, done, { isSeenTo, deletions })
      // A store that was deleted meanwhile: work that was under way has written files after the deletion.
      if ((await selectVectorStore(db, key)) === undefined) await this.#drop(key)
    }
    return true
  }

  async #maintain(key: StoreKey, lease: Lease, use: Use): Promise<{ builtRows: number; hasRun: boolean }> {
    const table = await this.#deps.retrieval.find(key)
    if (table === undefined) return { builtRows: lease.built_rows, hasRun: false }
    const state = await stateOf(table)
    const upkeep = upkeepFor(state, lease.built_rows, use)
    if (upkeep === 'nothing' && !lease.prune_is_due) return { builtRows: lease.built_rows, hasRun: false }
    const { builtRows } = await this.#deps.worker.run({
      tableName: tableNameOf(key),
      upkeep,
      isUrgent: upkeep === 'rebuild' && !state.hasVectorIndex,
      pruneBefore: Date.now() - this.#timing.pruneAfterSeconds * 1000,
    })
    return { builtRows: builtRows ?? lease.built_rows, hasRun: upkeep !== 'nothing' }
  }

  /** @returns how many deletions the vocabulary has caught up with */
  async #forgetWords(key: StoreKey, lease: Lease): Promise<number> {
    const { retrieval, vocabulary } = this.#deps
    const table = await retrieval.find(key)
    if (table === undefined || lease.deletions === 0) return 0
    if (lease.deletions < FORGET_SHARE * (lease.deletions + (await table.countRows()))) return 0
    const outcome = await vocabulary.rebuild(key, () => readTerms(table))
    return outcome === 'done' ? lease.deletions : 0
  }

  #release(
    key: StoreKey,
    holder: string,
    lease: Lease,
    done: { builtRows: number; hasRun: boolean },
    { isSeenTo, deletions }: { isSeenTo: boolean; deletions: number },
  ): Promise<void> {
    // Old versions remain of every commit, not of upkeep's alone.
    const isDue = done.hasRun || lease.dirty_since !== null
    const prune = isDue ? { pruneAfterSeconds: this.#timing.pruneAfterSeconds + 60 } : {}
    const pruned = lease.prune_is_due && !isDue ? { pruneAfterSeconds: null } : prune
    return releaseLease(this.#deps.db, key, holder, {
      dirtySince: isSeenTo ? null : lease.dirty_since,
      deletions,
      builtRows: done.builtRows,
      ...pruned,
    })
  }
}
