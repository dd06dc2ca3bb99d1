import type { Circuits } from './domain/circuits.ts'
import type { ModelRoutes } from './domain/model-routing.ts'
import type { RateLimit, RateLimiter } from './domain/rate-limiter.ts'
import type { TokenCounter } from './domain/token-counter.ts'
import type { UsageRecorder } from './domain/usage-recorder.ts'
import type { GatewayMetrics } from './metrics.ts'

/** What the operations work with; one for each region. */
export interface GatewayContext {
  readonly models: ModelRoutes
  /** Looks for backends again, for a caller whose model nobody serves. */
  readonly lookForModels: () => Promise<void>
  readonly circuits: Circuits
  readonly limiter: RateLimiter
  /** For keys without a limit of their own; undefined: these have none. */
  readonly rateLimit: RateLimit | undefined
  readonly recorder: UsageRecorder
  readonly counter: TokenCounter
  readonly metrics: GatewayMetrics
}
