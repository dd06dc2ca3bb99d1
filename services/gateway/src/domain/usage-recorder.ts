import { setTimeout as delay } from 'node:timers/promises'
import { isUnavailable } from '@atrium/kernel/errors'
import { newId } from '@atrium/kernel/ids'
import { every } from '@atrium/kernel/lifecycle'
import type { Logger } from '@atrium/kernel/log'
import type { KeyHolder, UsageRow } from '../ports.ts'
import { JournalSegment } from './journal-segment.ts'
import { costOf, type Price, type Usage } from './price.ts'
import { UsageSeries } from './usage-series.ts'

const FLUSH_EVERY_MS = 250
/** How long connections take to end that the database server ends. */
const BROKEN_MS = 500
const DAY_MS = 86_400_000
export const SEGMENT_BYTES = 16 * 1024 * 1024

/** Where flushed usage goes. */
export interface UsageStore {
  /**
   * Records the rows and, in the same transaction, that the journal is done up to `offset`. A second call
   * with the same offset changes nothing.
   */
  record(journalId: string, offset: number, rows: readonly UsageRow[]): Promise<void>
  /** Forgets a journal whose file is gone. */
  forget(journalId: string): Promise<void>
}

/** What is charged. */
export interface FinishedCall {
  readonly holder: KeyHolder
  /** As it shall stand in the costs. */
  readonly model: string
  readonly price: Price
  readonly usage: Usage
}

export interface RecorderOptions {
  readonly folder: string
  readonly currency: string
  readonly store: UsageStore
  readonly log: Logger
  readonly segmentBytes?: number
  /** Called with what is in the costs from now on. */
  readonly onRecorded?: (rows: readonly UsageRow[]) => void
}

interface Batch {
  readonly segment: JournalSegment
  readonly offset: number
  /** Stands for the journal where a full disk took none of the rows, so that its mark cannot say that they are recorded. */
  readonly strayId: string | undefined
  readonly rows: readonly UsageRow[]
  readonly isLast: boolean
}

/**
 * Writes every finished call to this process's journal before the answer ends, adds it up in memory, and
 * turns the sums into cost entries four times a second. What a killed process had not turned yet, the
 * next one does.
 */
export class UsageRecorder {
  readonly #options: RecorderOptions
  readonly #stop: () => Promise<void>
  #segment: JournalSegment
  #series = new Map<string, Map<string, UsageSeries>>()
  /** Those that the journal knows the numbers of. */
  #announced = new Set<UsageSeries>()
  #seriesCount = 0
  #dirty = new Set<UsageSeries>()
  #dayNumber = 0
  #day = ''
  #batch: Batch | undefined
  #flushing: Promise<void> | undefined
  /** Bytes of the segment that reached the database, and those of the one before it that did not yet. */
  #flushedBytes: number
  #rotatedBytes = 0
  /** Lines that are added up but not in the journal yet: at most those of one turn of the event loop. */
  #pending = ''
  #writing: Promise<void> | undefined
  #isRefused = false

  constructor(options: RecorderOptions) {
    this.#options = options
    this.#segment = new JournalSegment(options.folder)
    this.#flushedBytes = this.#segment.bytes
    this.#stop = every(
      FLUSH_EVERY_MS,
      () => this.flush(),
      (err) => {
        // The outage itself is logged where it is found.
        if (!isUnavailable(err)) options.log.warn({ err }, 'usage could not be recorded; trying again')
      },
    )
  }

  /** Bytes of the journal that are not in the database yet. */
  get lagBytes(): number {
    return this.#rotatedBytes + this.#segment.bytes - this.#flushedBytes
  }

  /**
   * Adds a call up. It is charged whatever happens to this process once `writeNow` or `written` is through, so
   * the answer ends after one of them.
   * @returns what the call cost, in pico-units of the currency
   */
  note(call: FinishedCall): bigint {
    const now = Math.floor(Date.now() / DAY_MS)
    if (now !== this.#dayNumber) this.#startDay(now)
    let ofKey = this.#series.get(call.holder.keyId)
    if (ofKey === undefined) {
      ofKey = new Map()
      this.#series.set(call.holder.keyId, ofKey)
    }
    let series = ofKey.get(call.model)
    if (series === undefined) {
      series = this.#newSeries(call)
      ofKey.set(call.model, series)
    }
    let announcement = ''
    if (!this.#announced.has(series)) {
      this.#announced.add(series)
      announcement = `${JSON.stringify(series.line)}\n`
    }
    const { usage } = call
    const pico = costOf(usage, call.price)
    series.add(usage, pico)
    this.#dirty.add(series)
    const { promptTokens, completionTokens, cachedTokens, estimated } = usage
    this.#pending += `${announcement}[${series.line.series},${promptTokens},${completionTokens},${cachedTokens},"${pico}",${estimated ? 1 : 0}]\n`
    return pico
  }

  /** Brings the noted calls into the journal. */
  writeNow(): void {
    if (this.#pending === '') return
    const lines = this.#pending
    this.#pending = ''
    this.#append(lines)
  }

  /** Resolves when the noted calls are in the journal: one write for all that finish in this turn. */
  written(): Promise<void> {
    this.#writing ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#writing = undefined
        this.writeNow()
        resolve()
      })
    })
    return this.#writing
  }

  #newSeries({ holder, model }: FinishedCall): UsageSeries {
    return new UsageSeries({
      series: ++this.#seriesCount,
      spaceId: holder.spaceId,
      keyId: holder.keyId,
      keyName: holder.name,
      day: this.#day,
      model,
      currency: this.#options.currency,
    })
  }

  #append(lines: string): void {
    try {
      this.#segment.append(lines)
      if (this.#isRefused) this.#options.log.warn('the usage journal can be written again')
      this.#isRefused = false
    } catch (error) {
      // A full disk must not stop the service: the call is still in memory and will be charged from there.
      this.#announced.clear()
      if (!this.#isRefused) this.#options.log.error({ err: error }, 'the usage journal cannot be written')
      this.#isRefused = true
    }
  }

  #startDay(dayNumber: number): void {
    this.#dayNumber = dayNumber
    this.#day = new Date(dayNumber * DAY_MS).toISOString().slice(0, 10)
    this.#series = new Map()
    this.#announced = new Set()
  }

  /** Brings what is in memory to the database. Rejects when that fails; nothing is lost then. */
  flush(): Promise<void> {
    this.#flushing ??= this.#flushAll().finally(() => {
      this.#flushing = undefined
    })
    return this.#flushing
  }

  async #flushAll(): Promise<void> {
    this.#batch ??= this.#cutBatch(false)
    await this.#settleBatch()
  }

  #cutBatch(closing: boolean): Batch | undefined {
    if (this.#dirty.size === 0 && !closing) return undefined
    // The offset of a batch covers exactly the lines of its rows.
    this.writeNow()
    const segment = this.#segment
    const isLast = closing || segment.bytes >= (this.#options.segmentBytes ?? SEGMENT_BYTES)
    const next = isLast && !closing ? new JournalSegment(this.#options.folder) : undefined
    const rows = [...this.#dirty].map((series) => series.drain())
    this.#dirty = new Set()
    const strayId = rows.length > 0 && segment.bytes === this.#flushedBytes ? newId() : undefined
    const batch: Batch = { segment, offset: segment.bytes, strayId, rows, isLast }
    if (next !== undefined) {
      this.#rotatedBytes = segment.bytes - this.#flushedBytes
      this.#segment = next
      this.#series = new Map()
      this.#announced = new Set()
      this.#flushedBytes = this.#segment.bytes
    }
    return batch
  }

  async #settleBatch(): Promise<void> {
    const batch = this.#batch
    if (batch === undefined) return
    const { segment, offset, strayId, rows, isLast } = batch
    const { store } = this.#options
    if (rows.length > 0)
      await (strayId === undefined ? store.record(segment.id, offset, rows) : store.record(strayId, 1, rows))
    // The rest may be tried again; to record after the mark is forgotten would charge twice.
    this.#batch = { ...batch, rows: [] }
    this.#options.onRecorded?.(rows)
    if (segment === this.#segment) this.#flushedBytes = offset
    else this.#rotatedBytes = 0
    if (strayId !== undefined) await store.forget(strayId)
    if (isLast) {
      segment.remove()
      await store.forget(segment.id)
    }
    this.#batch = undefined
  }

  /** Flushes and removes the journal; where the database is away, the next process takes the journal over. */
  async close(): Promise<void> {
    await this.#stop()
    try {
      await this.#closeSegment().catch(async () => {
        // Connections that are just breaking fail once each; then there are new ones.
        await delay(BROKEN_MS)
        await this.#closeSegment()
      })
    } catch (err) {
      if (!isUnavailable(err)) throw err
      const message = 'the database is away: the usage journal is left for the next process'
      this.#options.log.warn({ err, folder: this.#options.folder, bytes: this.lagBytes }, message)
    } finally {
      this.#segment.close()
    }
  }

  async #closeSegment(): Promise<void> {
    await this.flush()
    this.#batch = this.#cutBatch(true)
    await this.#settleBatch()
  }
}
