import type { UsageRow } from '../ports.ts'
import type { SeriesLine } from './journal-segment.ts'
import { decimalOfPico, type Usage } from './price.ts'

/** Running totals of one key, model and day. */
export class UsageSeries {
  readonly line: SeriesLine
  requests = 0
  #prompt = 0
  #completion = 0
  #cached = 0
  #estimated = 0
  #pico = 0n

  constructor(line: SeriesLine) {
    this.line = line
  }

  add(usage: Usage, pico: bigint): void {
    this.requests += 1
    this.#prompt += usage.promptTokens
    this.#completion += usage.completionTokens
    this.#cached += usage.cachedTokens
    if (usage.estimated) this.#estimated += 1
    this.#pico += pico
  }

  /** The totals as a row, after which they start again from nothing. */
  drain(): UsageRow {
    const { spaceId, keyId, keyName, day, model, currency } = this.line
    const row: UsageRow = {
      spaceId,
      keyId,
      keyName,
      day,
      model,
      requests: this.requests,
      promptTokens: this.#prompt,
      completionTokens: this.#completion,
      cachedTokens: this.#cached,
      estimatedRequests: this.#estimated,
      cost: decimalOfPico(this.#pico),
      currency,
    }
    this.requests = 0
    this.#prompt = 0
    this.#completion = 0
    this.#cached = 0
    this.#estimated = 0
    this.#pico = 0n
    return row
  }
}
