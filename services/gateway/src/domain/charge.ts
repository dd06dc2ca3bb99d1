import type { KeyHolder } from '../ports.ts'
import type { Reservation } from './budgets.ts'
import type { GatewayMetrics } from './metrics.ts'
import type { Deployment, ModelRoute } from './model-routing.ts'
import { FREE, type Usage } from './price.ts'
import type { Prompt, TokenCounter } from './token-counter.ts'
import type { UsageRecorder } from './usage-recorder.ts'

/** Text is handed to the counter in pieces of this length, so that none of it is kept for long. */
const PIECE_CHARS = 16_384

export interface ChargeDeps {
  readonly recorder: UsageRecorder
  readonly counter: TokenCounter
  readonly metrics: GatewayMetrics
}

/** The bill of one call: collects what is needed to estimate, and charges once. */
export class Charge {
  readonly #deps: ChargeDeps
  readonly #holder: KeyHolder
  readonly #route: ModelRoute
  readonly #deployment: Deployment
  readonly #promptOf: () => Prompt
  readonly #likelyCompletion: () => number
  readonly #reservation: Reservation | undefined
  #pieces: string[] = []
  #pieceChars = 0
  #counting: Promise<number>[] = []

  constructor(
    deps: ChargeDeps,
    holder: KeyHolder,
    served: {
      route: ModelRoute
      deployment: Deployment
      promptOf: () => Prompt
      likelyCompletion: () => number
      reservation: Reservation | undefined
    },
  ) {
    this.#deps = deps
    this.#holder = holder
    this.#route = served.route
    this.#deployment = served.deployment
    this.#promptOf = served.promptOf
    this.#likelyCompletion = served.likelyCompletion
    this.#reservation = served.reservation
  }

  /** Notes text that the model produced. */
  addText(text: string): void {
    this.#pieces.push(text)
    this.#pieceChars += text.length
    if (this.#pieceChars >= PIECE_CHARS) this.#countPieces()
  }

  #countPieces(): void {
    this.#counting.push(this.#deps.counter.count(this.#pieces.join('')))
    this.#pieces = []
    this.#pieceChars = 0
  }

  /** What the call used, by our own count. */
  async estimate(): Promise<Usage> {
    if (this.#pieceChars > 0) this.#countPieces()
    const { text, framing } = this.#promptOf()
    const [prompt = 0, ...completion] = await Promise.all([this.#deps.counter.count(text), ...this.#counting])
    return {
      promptTokens: prompt + framing,
      completionTokens: completion.reduce((sum, tokens) => sum + tokens, 0),
      cachedTokens: 0,
      estimated: true,
    }
  }

  /** What the whole call is likely to use, of whose answer nothing came. */
  async estimateWhole(): Promise<Usage> {
    return { ...(await this.estimate()), completionTokens: this.#likelyCompletion() }
  }

  /** Charges the call; when this returns, the charge survives the process. */
  settle(usage: Usage): void {
    this.#note(usage)
    this.#deps.recorder.writeNow()
  }

  /** The same for an answer that can wait for the end of this turn: all that finish in it share one write. */
  settleInTurn(usage: Usage): Promise<void> {
    this.#note(usage)
    return this.#deps.recorder.written()
  }

  #note(usage: Usage): void {
    const { model } = this.#route
    const { backend } = this.#deployment
    const pico = this.#deps.recorder.note({
      holder: this.#holder,
      model: backend.isSandbox ? `${model.name} (sandbox)` : model.name,
      price: model.price ?? FREE,
      usage,
    })
    this.#reservation?.settle(pico)
    this.#deps.metrics.call(model.name, backend.name, usage, pico)
  }
}
