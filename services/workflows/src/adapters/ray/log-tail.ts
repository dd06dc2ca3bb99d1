import { setTimeout as delay } from 'node:timers/promises'
import type { RayJobs } from './ray-jobs.ts'

/** Characters of a job's log that are read; the task's own limit cuts before. */
const MOST = 64 * 1024 * 1024
const LONGEST_LINE = 64 * 1024
const AGAIN_MS = 2000
const LAST_LINES = 10

/** Follows the log of a Ray job, line by line, each line once also when the connection broke meanwhile. */
export class LogTail {
  readonly #jobs: RayJobs
  readonly #id: string
  readonly #say: (line: string) => void
  readonly #stop = new AbortController()
  readonly #done: Promise<void>
  /** Characters that were taken, over all connections: each begins with the log's beginning. */
  #taken = 0
  #rest = ''
  #last: string[] = []
  #hasEnded = false

  constructor(jobs: RayJobs, id: string, say: (line: string) => void) {
    this.#jobs = jobs
    this.#id = id
    this.#say = say
    this.#done = this.#follow()
  }

  /** The last lines, for a message. */
  get lastLines(): string {
    return this.#last.join('\n')
  }

  /** Waits for the log's end, which Ray tells once the job has ended. */
  async finish(withinMs: number): Promise<void> {
    const waiting = new AbortController()
    await Promise.race([this.#done, delay(withinMs, undefined, { signal: waiting.signal }).catch(() => {})])
    waiting.abort()
    await this.close()
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#done
    if (this.#rest !== '') this.#line(this.#rest)
    this.#rest = ''
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted && !this.#hasEnded && this.#taken < MOST) {
      await this.#connect(signal)
      if (!this.#hasEnded) await delay(AGAIN_MS, undefined, { signal }).catch(() => {})
    }
  }

  /** One connection, until it ends. */
  #connect(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const socket = this.#jobs.openLog(this.#id)
      let seen = 0
      const close = (): void => socket.terminate()
      signal.addEventListener('abort', close, { once: true })
      socket.on('message', (data) => {
        const text = String(data)
        const fresh = text.slice(Math.max(0, this.#taken - seen))
        seen += text.length
        if (fresh !== '') this.#take(fresh)
        if (this.#taken >= MOST) socket.terminate()
      })
      // It is closed after that.
      socket.on('error', () => {})
      socket.on('close', (code) => {
        signal.removeEventListener('abort', close)
        // Ray closes so also when it loses the log itself: what the job says of itself decides.
        if (code === 1000 && seen > 0) this.#hasEnded = true
        resolve()
      })
    })
  }

  #take(text: string): void {
    this.#taken += text.length
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#line(line)
    for (; this.#rest.length > LONGEST_LINE; this.#rest = this.#rest.slice(LONGEST_LINE)) {
      this.#line(this.#rest.slice(0, LONGEST_LINE))
    }
  }

  #line(line: string): void {
    this.#say(line.replace(/\r$/, ''))
    this.#last = [...this.#last.slice(1 - LAST_LINES), line.slice(0, 500)]
  }
}
