import { Counter, Gauge, Histogram, type Registry } from '@atrium/kernel/metrics'
import { decimalOfPico, type Usage } from './price.ts'

interface ModelTotals {
  readonly model: string
  readonly backend: string
  calls: number
  estimated: number
  prompt: number
  completion: number
  cached: number
  pico: bigint
}

/** The gateway's figures. Counting is plain addition; labels are resolved when somebody scrapes. */
export interface GatewayMetrics {
  call(model: string, backend: string, usage: Usage, pico: bigint): void
  firstChunk(model: string, milliseconds: number): void
  /** @param reason the error's code */
  backendError(backend: string, reason: string): void
}

const perModel = ['model', 'backend'] as const

export function createGatewayMetrics(registry: Registry, journalLagBytes: () => number): GatewayMetrics {
  const totals = new Map<string, ModelTotals>()
  const registers = [registry]

  /** A counter that is computed from the totals at the time of the scrape. */
  function fromTotals(name: string, help: string, value: (one: ModelTotals) => number): void {
    new Counter({
      name,
      help,
      labelNames: perModel,
      registers,
      collect() {
        this.reset()
        for (const one of totals.values()) this.inc({ model: one.model, backend: one.backend }, value(one))
      },
    })
  }
  fromTotals('atrium_gateway_calls_total', 'Calls that a backend served', (one) => one.calls)
  fromTotals(
    'atrium_gateway_calls_estimated_total',
    'Calls whose usage the gateway counted itself',
    (one) => one.estimated,
  )
  fromTotals('atrium_gateway_prompt_tokens_total', 'Tokens read, cached ones included', (one) => one.prompt)
  fromTotals(
    'atrium_gateway_cached_tokens_total',
    'Tokens read from the backend’s cache',
    (one) => one.cached,
  )
  fromTotals('atrium_gateway_completion_tokens_total', 'Tokens written', (one) => one.completion)
  fromTotals('atrium_gateway_cost_total', 'Cost by the catalogue’s prices, in its currency', (one) =>
    Number(decimalOfPico(one.pico)),
  )
  new Gauge({
    name: 'atrium_gateway_journal_lag_bytes',
    help: 'Usage in the journal that is not in the database yet',
    registers,
    collect() {
      this.set(journalLagBytes())
    },
  })
  const firstChunk = new Histogram({
    name: 'atrium_gateway_time_to_first_chunk_seconds',
    help: 'Time from the request to the first event of a streamed answer',
    labelNames: ['model'] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers,
  })
  const errors = new Counter({
    name: 'atrium_gateway_backend_errors_total',
    help: 'Calls that a backend failed to serve',
    labelNames: ['backend', 'reason'] as const,
    registers,
  })
  return {
    call(model, backend, usage, pico) {
      const key = `${model} ${backend}`
      let one = totals.get(key)
      if (one === undefined) {
        one = { model, backend, calls: 0, estimated: 0, prompt: 0, completion: 0, cached: 0, pico: 0n }
        totals.set(key, one)
      }
      one.calls += 1
      if (usage.estimated) one.estimated += 1
      one.prompt += usage.promptTokens
      one.completion += usage.completionTokens
      one.cached += usage.cachedTokens
      one.pico += pico
    },
    firstChunk: (model, milliseconds) => firstChunk.observe({ model }, milliseconds / 1000),
    backendError: (backend, reason) => errors.inc({ backend, reason }),
  }
}
