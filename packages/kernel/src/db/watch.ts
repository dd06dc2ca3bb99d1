import type { Logger } from '../log.ts'
import { SlotSet } from '../slot-set.ts'

/** Longer silences are looked into. Statements may well take longer: that alone says nothing. */
const SILENT_MS = 1000
const LOOK_EVERY_MS = 250
const PROBE_AGAIN_MS = 500

/** What a probe on a connection of its own found out. */
export type Found =
  /** `working`: the sessions that asked and for which the server works; undefined where it cannot be told. */
  | { readonly state: 'answers'; readonly working: ReadonlySet<number> | undefined }
  | { readonly state: 'refuses' | 'hangs'; readonly error: unknown }

/** Something that waits for the database: a query, or a connection. */
interface Wait {
  readonly since: number
  /** The server's process behind the connection. */
  readonly pid: number | undefined
  /** Ends the wait with an error. */
  readonly fail: () => void
  /** The last probe saw the server do nothing for it: its question or its answer is lost. */
  isLost: boolean
  isOver: boolean
}

export interface WatchOptions {
  /** Asks the database whether it works for these sessions; ends within a few seconds, and never rejects. */
  readonly probe: (pids: readonly number[]) => Promise<Found>
  /** The server is silent: nothing will come of the connections that there are. */
  readonly onHang: () => void
  /** No wait is longer, whatever the probe says; undefined: some may be. */
  readonly longestMs: number | undefined
  readonly log: Logger
}

/**
 * Finds out when the database is away, and when it is back. Not by a time-out, which would end long statements as
 * well: once something was silent for a second, a probe on another connection decides.
 */
export class Watch {
  readonly #options: WatchOptions
  readonly #waits = new SlotSet<Wait>()
  readonly #timer: NodeJS.Timeout
  #again: NodeJS.Timeout | undefined
  #probing = false
  #probedAt = Number.NEGATIVE_INFINITY
  #heardAt = Number.NEGATIVE_INFINITY
  #awaySince: number | undefined
  #closed = false

  constructor(options: WatchOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS)
    this.#timer.unref()
  }

  get isAway(): boolean {
    return this.#awaySince !== undefined
  }

  /** How long the database has been away; 0 where it is not. */
  get awayMs(): number {
    return this.#awaySince === undefined ? 0 : performance.now() - this.#awaySince
  }

  /** @returns what to call at the end of the wait, with whether the database answered */
  begin(pid: number | undefined, fail: () => void): (answered: boolean) => void {
    const wait: Wait = { since: performance.now(), pid, fail, isLost: false, isOver: false }
    const slot = this.#waits.add(wait)
    return (answered) => {
      // Who gave up is told of the end once more.
      if (!wait.isOver) this.#waits.delete(slot)
      wait.isOver = true
      if (answered) this.#heardAt = performance.now()
    }
  }

  /** A connection failed: finds out at once whether the database is away. */
  suspect(): void {
    if (!this.isAway) this.#probe()
  }

  close(): void {
    this.#closed = true
    clearInterval(this.#timer)
    clearTimeout(this.#again)
  }

  #look(): void {
    const now = performance.now()
    if (this.isAway || now - this.#probedAt <= SILENT_MS) return
    if (this.#waits.values().some(({ since }) => now - since > SILENT_MS)) this.#probe()
  }

  #probe(): void {
    if (this.#probing || this.#closed) return
    this.#probing = true
    const begunAt = performance.now()
    const silent = this.#waits.values().filter((wait) => begunAt - wait.since > SILENT_MS)
    const pids = silent.flatMap(({ pid }) => (pid === undefined ? [] : [pid]))
    void this.#options.probe(pids).then((found) => {
      this.#probing = false
      this.#probedAt = performance.now()
      if (this.#closed) return
      if (found.state === 'answers') this.#isHere(silent, found.working)
      else if (found.state === 'refuses' || this.#heardAt < begunAt) this.#isAway(found)
    })
  }

  #isHere(silent: readonly Wait[], working: ReadonlySet<number> | undefined): void {
    const since = this.#awaySince
    this.#awaySince = undefined
    if (since !== undefined) {
      const seconds = Math.round((performance.now() - since) / 1000)
      this.#options.log.warn(`the database is back after ${seconds} s`)
    }
    const longestMs = this.#options.longestMs ?? Number.POSITIVE_INFINITY
    for (const wait of silent) {
      if (wait.pid === undefined || wait.isOver) continue
      if (performance.now() - wait.since > longestMs) wait.fail()
      else if (working === undefined) continue
      else if (working.has(wait.pid)) wait.isLost = false
      else if (wait.isLost) wait.fail()
      else wait.isLost = true
    }
  }

  #isAway(found: Exclude<Found, { state: 'answers' }>): void {
    if (this.#awaySince === undefined) {
      this.#awaySince = performance.now()
      this.#options.log.error(
        { err: found.error },
        found.state === 'hangs' ? 'the database does not answer' : 'the database cannot be reached',
      )
    }
    if (found.state === 'hangs') this.#options.onHang()
    const now = performance.now()
    for (const { pid, since, fail } of this.#waits.values()) {
      // A server that takes no new connections may still finish what it works on.
      if (found.state === 'hangs' || pid === undefined || now - since > SILENT_MS) fail()
    }
    this.#again = setTimeout(() => this.#probe(), PROBE_AGAIN_MS)
    this.#again.unref()
  }
}
