import type { ImportSummary } from './importer.ts'

const REDRAW_MS = 100
const LINE_MS = 5000
/** The rate is that of the last so many milliseconds. */
const RATE_OVER_MS = 20_000
const BAR_CHARS = 24
const SHORT_BAR_CHARS = 10
/** Narrower terminals get the short bar. */
const WIDE_COLUMNS = 110

interface Sample {
  readonly ms: number
  readonly bytes: number
  readonly chunks: number
}

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })

/** "1:02:03", "2:03". */
function clock(seconds: number): string {
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.floor(seconds) % 60]
  const two = (value: number): string => String(value).padStart(2, '0')
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`
}

/** Shows how far an import is: a bar on a terminal, a line every few seconds elsewhere. */
export class Progress {
  readonly #stream: NodeJS.WriteStream
  readonly #totalBytes: number
  readonly #summary: ImportSummary
  readonly #timer: NodeJS.Timeout
  readonly #samples: Sample[] = []
  #bytes = 0

  constructor(stream: NodeJS.WriteStream, totalBytes: number, summary: ImportSummary) {
    this.#stream = stream
    this.#totalBytes = totalBytes
    this.#summary = summary
    this.#timer = setInterval(() => this.#show(), stream.isTTY ? REDRAW_MS : LINE_MS)
    this.#timer.unref()
    this.#sample()
  }

  /** @param bytes of the sources that are done */
  reach(bytes: number): void {
    this.#bytes = bytes
  }

  /** Prints a line that stays. */
  note(line: string): void {
    this.#stream.write(this.#stream.isTTY ? `\r\x1b[K${line}\n` : `${line}\n`)
  }

  /** Shows the last state, which stays. */
  end(): void {
    clearInterval(this.#timer)
    this.#show()
    if (this.#stream.isTTY) this.#stream.write('\n')
  }

  #sample(): void {
    const ms = performance.now()
    this.#samples.push({ ms, bytes: this.#bytes, chunks: this.#summary.stored })
    while ((this.#samples[1]?.ms ?? ms) < ms - RATE_OVER_MS) this.#samples.shift()
  }

  #show(): void {
    this.#sample()
    const text = this.#line()
    this.#stream.write(
      this.#stream.isTTY ? `\r${text.slice(0, (this.#stream.columns ?? 80) - 1)}\x1b[K` : `${text}\n`,
    )
  }

  #line(): string {
    const { imported, replaced, unchanged, empty, failed, stored } = this.#summary
    const part = this.#totalBytes === 0 ? 1 : Math.min(1, this.#bytes / this.#totalBytes)
    const [first] = this.#samples
    const seconds = Math.max(0.001, (performance.now() - (first?.ms ?? 0)) / 1000)
    const bytesPerSecond = (this.#bytes - (first?.bytes ?? 0)) / seconds
    const left =
      part === 1 || bytesPerSecond === 0
        ? ''
        : `${clock((this.#totalBytes - this.#bytes) / bytesPerSecond)} left`
    const width = (this.#stream.columns ?? WIDE_COLUMNS) < WIDE_COLUMNS ? SHORT_BAR_CHARS : BAR_CHARS
    const filled = Math.floor(part * width)
    return [
      `[${'='.repeat(filled)}${' '.repeat(width - filled)}] ${String(Math.floor(part * 100)).padStart(3)} %`,
      `${whole.format(imported + replaced + unchanged + empty + failed)} documents`,
      `${whole.format(stored)} chunks`,
      `${whole.format((stored - (first?.chunks ?? 0)) / seconds)}/s`,
      ...(failed > 0 ? [`${whole.format(failed)} failed`] : []),
      ...(left === '' ? [] : [left]),
    ].join('  ')
  }
}
