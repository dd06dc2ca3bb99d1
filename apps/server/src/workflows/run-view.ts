import { durationMs, hasEnded, type ShownRun, type ShownTask } from './runs.ts'
import { durationText, printable } from './texts.ts'

const REDRAW_MS = 200
const WIDEST_NAME = 40
const LONGEST_STATUS = 'Succeeded'.length

/**
 * Shows in a terminal how a run goes: a line for each task that begins or ends, and on a terminal one below that lives.
 * Elsewhere only the lines, so that a pipeline's log holds what counts.
 */
export class RunView {
  readonly #stream: NodeJS.WriteStream
  readonly #seen = new Map<string, string>()
  readonly #runningSince = new Map<string, number>()
  readonly #timer: NodeJS.Timeout | undefined
  readonly #startedMs = performance.now()
  #run: ShownRun | undefined

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
    if (stream.isTTY) this.#timer = setInterval(() => this.#redraw(), REDRAW_MS).unref()
  }

  /** Prints a line that stays. */
  note(line: string): void {
    this.#stream.write(this.#stream.isTTY ? `\r\x1b[K${line}\n` : `${line}\n`)
  }

  show(run: ShownRun): void {
    this.#run = run
    for (const task of run.tasks) {
      const state = `${task.status} ${task.attempt}`
      if (this.#seen.get(task.name) === state) continue
      this.#seen.set(task.name, state)
      if (task.status === 'Running') this.#runningSince.set(task.name, performance.now())
      else this.#runningSince.delete(task.name)
      if (task.status !== 'Pending') this.note(this.#lineOf(task))
      if (task.status === 'Failed') this.#explain(task)
    }
    this.#redraw()
  }

  /** The last word on a run; the line that lives goes. */
  end(run: ShownRun): void {
    clearInterval(this.#timer)
    const ms = durationMs({ startedAt: run.startedAt ?? run.createdAt, completedAt: run.completedAt })
    const time = ms === undefined ? '' : ` after ${durationText(ms)}`
    const why = run.status === 'Succeeded' || run.message === '' ? '' : `: ${printable(run.message)}`
    this.note(hasEnded(run) ? `${run.status}${time}${why}` : `It goes on: ${run.status}`)
  }

  #lineOf(task: ShownTask): string {
    const width = Math.min(WIDEST_NAME, Math.max(...(this.#run?.tasks ?? []).map(({ name }) => name.length)))
    const ms = durationMs(task)
    const time = ms === undefined ? '' : durationText(ms)
    return `${task.name.padEnd(width)}  ${task.status.padEnd(LONGEST_STATUS)}  ${time}`.trimEnd()
  }

  /** Why it failed, with its last lines. */
  #explain({ message }: ShownTask): void {
    for (const line of printable(message).trimEnd().split('\n')) this.note(`    ${line}`)
  }

  #redraw(): void {
    if (!this.#stream.isTTY || this.#run === undefined || hasEnded(this.#run)) return
    const { tasks, status } = this.#run
    const now = performance.now()
    const done = tasks.filter((task) => task.status !== 'Pending' && task.status !== 'Running').length
    const running = [...this.#runningSince].map(([name, since]) => `${name} ${durationText(now - since)}`)
    const text = [
      `${status} ${durationText(now - this.#startedMs)}`,
      `${done} of ${tasks.length} tasks done`,
      ...running,
    ].join('  ')
    this.#stream.write(`\r${text.slice(0, (this.#stream.columns ?? 80) - 1)}\x1b[K`)
  }
}
