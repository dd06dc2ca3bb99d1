import { randomUUID } from 'node:crypto'
import type { Logger } from '@atrium/kernel/log'
import { readTerms } from '../adapters/lancedb/embedding-table.ts'
import { type Retrieval, tableNameOf } from '../adapters/lancedb/retrieval.ts'
import { stateOf, upkeepFor } from '../adapters/upkeep/state.ts'
import type { Tidier } from '../adapters/upkeep/tidier.ts'
import type { AgentsDb } from '../queries/tables.ts'
import { type Lease, releaseLease, selectDueStores, takeLease } from '../queries/upkeep.ts'
import {
  removeDeletedVectorStore,
  type StoreKey,
  selectDeletingVectorStores,
  selectExistingStores,
} from '../queries/vector-stores.ts'
import type { Vocabulary } from './keyword/vocabulary.ts'

export interface UpkeepDeps {
  readonly db: AgentsDb
  readonly retrieval: Retrieval
  readonly tidier: Tidier
  readonly vocabulary: Vocabulary
  readonly log: Logger
}

/** How long after a write its store is looked at, in milliseconds. */
const LOOK_AFTER_MS = 300
/** A store that nobody has written to for so long is at rest. */
const REST_MS = 3000
const LEASE_SECONDS = 30
/** Files of old versions stay for readers that began with them. */
const PRUNE_AFTER_SECONDS = 600
/** Deleted share of a store from which words that nothing holds any more are looked for. */
const FORGET_SHARE = 0.2
/** Stores that one run of the background job sees to. */
const STORES_A_RUN = 100

interface Watched {
  readonly key: StoreKey
  lastWrite: number
  timer: NodeJS.Timeout | undefined
  isBusy: boolean
}

/** Keeps the files of stores fit to be searched: indexes what was written, compacts, deletes what nobody needs. */
export class Upkeep {
  readonly #deps: UpkeepDeps
  readonly #holder = randomUUID()
  readonly #watched = new Map<string, Watched>()
  #isClosed = false
  #sweeping: Promise<void> | undefined

  constructor(deps: UpkeepDeps) {
    this.#deps = deps
  }

  /** A store was written to by this process. */
  noteWrite(key: StoreKey): void {
    if (this.#isClosed) return
    let watched = this.#watched.get(key.vectorStoreId)
    if (watched === undefined) {
      watched = { key, lastWrite: 0, timer: undefined, isBusy: false }
      this.#watched.set(key.vectorStoreId, watched)
    }
    watched.lastWrite = Date.now()
    this.#lookLater(watched, LOOK_AFTER_MS)
  }

  /** Deletes files without a store, soon. */
  sweepSoon(): void {
    if (this.#isClosed || this.#sweeping !== undefined) return
    this.#sweeping = this.sweep()
      .catch((error: unknown) => this.#deps.log.warn({ err: error }, 'sweeping vector stores failed'))
      .finally(() => {
        this.#sweeping = undefined
      })
  }

  /** Ends deletions that a crash broke off, and deletes files of stores that are not there. */
  async sweep(): Promise<void> {
    const { db, retrieval } = this.#deps
    for (const key of await selectDeletingVectorStores(db)) {
      await retrieval.drop(key)
      await removeDeletedVectorStore(db, key)
    }
    for await (const keys of retrieval.storesWithFiles()) {
      // A store's row is always older than its files, so files without one are nobody's.
      const existing = await selectExistingStores(
        db,
        keys.map(({ vectorStoreId }) => vectorStoreId),
      )
      for (const key of keys) if (!existing.has(key.vectorStoreId)) await retrieval.drop(key)
    }
  }

  /** Sees to stores that are due and that nobody works on, as after a crash. */
  async runDue(signal: AbortSignal): Promise<void> {
    for (const key of await selectDueStores(this.#deps.db, STORES_A_RUN)) {
      if (signal.aborted || this.#isClosed) return
      await this.#lookAt(key, true)
    }
  }

  /** Looks at nothing any more. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const { timer } of this.#watched.values()) clearTimeout(timer)
    this.#watched.clear()
    this.#deps.tidier.close()
    await this.#sweeping
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
    const isResting = restsFor >= REST_MS
    try {
      await this.#lookAt(watched.key, isResting)
    } catch (error) {
      if (!this.#isClosed)
        this.#deps.log.warn({ err: error, ...watched.key }, 'upkeep of a vector store failed')
    }
    watched.isBusy = false
    if (Date.now() - watched.lastWrite < restsFor) this.#lookLater(watched, LOOK_AFTER_MS)
    else if (!isResting) this.#lookLater(watched, REST_MS - restsFor)
    else this.#watched.delete(watched.key.vectorStoreId)
  }

  /** Does what a store needs, unless another process has it. */
  async #lookAt(key: StoreKey, isResting: boolean): Promise<void> {
    const { db, retrieval } = this.#deps
    const table = await retrieval.find(key)
    if (table === undefined) return
    const lease = await takeLease(db, key, this.#holder, LEASE_SECONDS)
    if (lease === undefined) return
    const renewal = setInterval(
      () => void takeLease(db, key, this.#holder, LEASE_SECONDS).catch(() => {}),
      (LEASE_SECONDS * 1000) / 3,
    )
    renewal.unref()
    let done = { builtRows: lease.built_rows, hasRun: false }
    let isDone = false
    try {
      done = await this.#tidy(key, lease, isResting)
      const deletions = await this.#forgetWords(key, lease)
      isDone = true
      await this.#release(key, lease, done, isResting ? lease.dirty_since : null, deletions)
    } finally {
      clearInterval(renewal)
      if (!isDone && !this.#isClosed) await this.#release(key, lease, done, null, 0)
    }
  }

  async #tidy(
    key: StoreKey,
    lease: Lease,
    isResting: boolean,
  ): Promise<{ builtRows: number; hasRun: boolean }> {
    const table = await this.#deps.retrieval.find(key)
    if (table === undefined) return { builtRows: lease.built_rows, hasRun: false }
    const upkeep = upkeepFor(await stateOf(table), lease.built_rows, isResting)
    if (upkeep === 'nothing' && !lease.prune_is_due) return { builtRows: lease.built_rows, hasRun: false }
    const { builtRows } = await this.#deps.tidier.tidy({
      tableName: tableNameOf(key),
      upkeep,
      pruneBefore: Date.now() - PRUNE_AFTER_SECONDS * 1000,
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
    lease: Lease,
    done: { builtRows: number; hasRun: boolean },
    dirtySince: string | null,
    deletions: number,
  ): Promise<void> {
    // Old versions remain of every commit, not of upkeep's alone.
    const isDue = done.hasRun || lease.dirty_since !== null
    const prune = isDue ? { pruneAfterSeconds: PRUNE_AFTER_SECONDS + 60 } : {}
    const pruned = lease.prune_is_due && !isDue ? { pruneAfterSeconds: null } : prune
    return releaseLease(this.#deps.db, key, this.#holder, {
      dirtySince,
      deletions,
      builtRows: done.builtRows,
      ...pruned,
    })
  }
}
