import { createHash, randomBytes } from 'node:crypto'
import { OperatorError } from '@atrium/kernel/errors'
import { type PlatformClient, Refused } from '../client/platform-client.ts'
import { batchesOf, type Window, windowsOf } from './batches.ts'
import type { SourceDocument, SourceItem } from './documents.ts'
import { type DocumentPlan, planDocument, sortStored } from './import-plan.ts'
import { Slots } from './slots.ts'
import { bodyOf, deleteChunks, embed, listChunks, type NewChunk, type VectorStore } from './vector-store.ts'

/** So many refused documents and none stored: the cause is not in the documents. */
const REFUSALS_TO_GIVE_UP = 20
/** A request of an import that was killed may still be under way when the next one starts. */
const DOUBTFUL_FOR_MS = 60_000
/** A failure that ends the list in the summary; the count goes on. */
const MOST_LISTED = 1000

export interface Failure {
  readonly origin: string
  readonly reason: string
}

/** What an import did. */
export interface ImportSummary {
  /** Documents by what became of them. */
  imported: number
  replaced: number
  unchanged: number
  /** Without any text; not in the store. */
  empty: number
  failed: number
  /** Files that are none of an import's business. */
  skipped: number
  /** Chunks. */
  stored: number
  deleted: number
  /** The vectors were made up: no real model is configured. */
  sandbox: boolean
  failures: Failure[]
}

export interface ImporterOptions {
  readonly client: PlatformClient
  readonly store: VectorStore
  /** Requests under way at once. */
  readonly concurrency: number
  /** Looks what would be done, and does none of it. */
  readonly isDryRun: boolean
  /** When aborted, what is under way ends and nothing more begins. */
  readonly stop: AbortSignal
  /** Told of each thing that people should know. */
  readonly onNote: (line: string) => void
  /** @param position in the sources, in bytes */
  readonly onProgress: (position: number) => void
}

/** Brings documents into a store so that it holds each of them exactly once. */
export class Importer {
  readonly summary: ImportSummary = {
    imported: 0,
    replaced: 0,
    unchanged: 0,
    empty: 0,
    failed: 0,
    skipped: 0,
    stored: 0,
    deleted: 0,
    sandbox: false,
    failures: [],
  }
  readonly #options: ImporterOptions
  readonly #run = randomBytes(6).toString('base64url')
  readonly #startedMs = performance.now()
  readonly #requests: Slots
  /** Hashes of the ids that came, to notice one that comes again; the ids themselves would fill the memory. */
  readonly #seen = new Set<number>()
  #position = 0
  /** Documents that were refused. */
  #refusals = 0
  #isSandbox: boolean | undefined
  #fatal: { readonly error: unknown } | undefined

  constructor(options: ImporterOptions) {
    this.#options = options
    this.#requests = new Slots(options.concurrency)
  }

  /**
   * Imports everything, unless it is stopped.
   * @throws OperatorError when it cannot go on
   */
  async run(items: AsyncIterable<SourceItem>): Promise<ImportSummary> {
    const windows = new Slots(this.#options.concurrency)
    const running = new Set<Promise<void>>()
    let reached = 0
    for await (const window of windowsOf(items)) {
      const giveBack = await windows.take()
      if (this.#isOver) break
      const bytes = window.position - reached
      reached = window.position
      const done = this.#importWindow(window, bytes)
        .catch((error: unknown) => {
          this.#fatal ??= { error }
        })
        .finally(() => {
          running.delete(done)
          giveBack()
        })
      running.add(done)
    }
    await Promise.all(running)
    if (this.#fatal !== undefined && !this.#options.stop.aborted) throw this.#fatal.error
    return this.summary
  }

  get #isOver(): boolean {
    return this.#fatal !== undefined || this.#options.stop.aborted
  }

  async #importWindow({ documents, problems }: Window, bytes: number): Promise<void> {
    for (const { kind, origin, reason } of problems) {
      if (kind === 'bad') this.#fail(origin, reason)
      else {
        this.summary.skipped += 1
        this.#options.onNote(`${origin} is skipped: ${reason}`)
      }
    }
    const plans = await this.#plan(documents.filter((document) => this.#isFirst(document)))
    const missing = plans.flatMap((plan) => plan.missing.map((chunk) => ({ ...chunk, plan })))
    if (!this.#options.isDryRun) {
      const batches = [...batchesOf(missing)]
      await Promise.all(
        batches.map((batch) =>
          this.#requests.run(async () => {
            if (this.#isOver) return
            await this.#storeBatch(batch)
            this.#advance((bytes * batch.length) / missing.length)
          }),
        ),
      )
      // What is not complete stays as it is: the next run goes on from there.
      if (this.#isOver) return
      await this.#settle(plans)
    } else this.summary.stored += missing.length
    for (const plan of plans) this.#count(plan)
    if (missing.length === 0 || this.#options.isDryRun) this.#advance(bytes)
  }

  #advance(bytes: number): void {
    this.#position += bytes
    this.#options.onProgress(this.#position)
  }

  #isFirst({ id, origin }: SourceDocument): boolean {
    const hash = createHash('sha256').update(id).digest().readUIntBE(0, 6)
    if (!this.#seen.has(hash)) {
      this.#seen.add(hash)
      return true
    }
    this.#fail(origin, `its id '${id}' came before`)
    return false
  }

  async #plan(documents: readonly SourceDocument[]): Promise<DocumentPlan[]> {
    const { client, store } = this.#options
    const ids = documents.map(({ id }) => id)
    const stored = await this.#requests.run(() => listChunks(client, store, ids))
    const byDocument = Map.groupBy(stored, ({ documentId }) => documentId)
    return documents.map((document) =>
      planDocument(document, store, byDocument.get(document.id) ?? [], this.#run),
    )
  }

  /** Halves a batch that is refused until the chunk that causes it is found. */
  async #storeBatch(batch: readonly (NewChunk & { readonly plan: DocumentPlan })[]): Promise<void> {
    const wanted = batch.filter(({ plan }) => plan.failure === undefined)
    if (wanted.length === 0) return
    try {
      await this.#embedAndStore(wanted)
    } catch (error) {
      if (!(error instanceof Refused) || ![400, 413, 422].includes(error.status)) throw error
      const [only, ...others] = wanted
      if (only !== undefined && others.length === 0) {
        only.plan.failure ??= error.message
        this.#refusals += 1
        return
      }
      const half = Math.ceil(wanted.length / 2)
      await this.#storeBatch(wanted.slice(0, half))
      if (this.#refusals >= REFUSALS_TO_GIVE_UP && this.summary.stored === 0) throw error
      await this.#storeBatch(wanted.slice(half))
    }
  }

  async #embedAndStore(batch: readonly (NewChunk & { readonly plan: DocumentPlan })[]): Promise<void> {
    const { client, store } = this.#options
    const { vectors, isSandbox } = await embed(
      client,
      store,
      batch.map(({ chunk }) => chunk),
    )
    this.#noteSandbox(isSandbox)
    let left = batch.map((chunk, i) => ({ chunk, vector: vectors[i] ?? '' }))
    await client.retrying(async (mayHaveHappened) => {
      if (mayHaveHappened) {
        for (const { plan } of batch) plan.isDoubtful = true
        left = await this.#notStored(left)
      }
      if (left.length === 0) return
      const body = bodyOf(
        left.map(({ chunk: { plan: _, ...chunk } }) => chunk),
        left.map(({ vector }) => vector),
      )
      await client.send('POST', `${store.path}/embeddings`, body)
    })
    this.summary.stored += batch.length
  }

  async #notStored<T extends { readonly chunk: NewChunk & { readonly plan: DocumentPlan } }>(
    left: readonly T[],
  ): Promise<T[]> {
    const { client, store } = this.#options
    const ids = [...new Set(left.map(({ chunk }) => chunk.documentId))]
    const stored = await listChunks(client, store, ids)
    const have = new Set(
      stored.map(({ documentId, sequence, mark }) => `${mark?.hash} ${sequence} ${documentId}`),
    )
    return left.filter(
      ({ chunk: { plan, sequence, documentId } }) => !have.has(`${plan.mark.hash} ${sequence} ${documentId}`),
    )
  }

  #noteSandbox(isSandbox: boolean): void {
    if (this.#isSandbox === undefined && isSandbox)
      this.#options.onNote('The sandbox makes these vectors, no real model: good for trying out alone')
    this.#isSandbox ??= isSandbox
    if (this.#isSandbox !== isSandbox)
      throw new OperatorError(
        'The gateway changed between the sandbox and a real model, whose vectors do not fit together: delete what was imported, or end that change',
      )
    this.summary.sandbox = isSandbox
  }

  /** Deletes what is too much, now that nothing is missing any more. */
  async #settle(plans: readonly DocumentPlan[]): Promise<void> {
    const { client, store } = this.#options
    const isEarly = performance.now() - this.#startedMs < DOUBTFUL_FOR_MS
    const doubtful = plans.filter(
      (plan) => plan.failure !== undefined || (plan.missing.length > 0 && (isEarly || plan.isDoubtful)),
    )
    const stored = await listChunks(
      client,
      store,
      doubtful.map(({ document }) => document.id),
    )
    const byDocument = Map.groupBy(stored, ({ documentId }) => documentId)
    const surplus = plans.flatMap((plan) => {
      if (!doubtful.includes(plan)) return plan.surplus
      const found = byDocument.get(plan.document.id) ?? []
      if (plan.failure === undefined) return sortStored(found, plan.mark).surplus
      // The chunks that did get in would stand beside those of the earlier text.
      return found.filter(({ mark }) => mark?.run === this.#run).map(({ embeddingId }) => embeddingId)
    })
    await deleteChunks(client, store, surplus)
    this.summary.deleted += surplus.length
  }

  #count({ document, failure, missing, surplus, mark, isReplacement }: DocumentPlan): void {
    if (failure !== undefined) this.#fail(document.origin, failure)
    else if (mark.chunks === 0) this.summary.empty += 1
    else if (missing.length === 0 && surplus.length === 0) this.summary.unchanged += 1
    else if (isReplacement) this.summary.replaced += 1
    else this.summary.imported += 1
  }

  #fail(origin: string, reason: string): void {
    this.summary.failed += 1
    if (this.summary.failures.length < MOST_LISTED) this.summary.failures.push({ origin, reason })
    this.#options.onNote(`${origin} failed: ${reason}`)
  }
}
