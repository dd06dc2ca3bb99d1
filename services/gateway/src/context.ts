import type { Budgets } from './domain/budgets.ts'
import type { Circuits } from './domain/circuits.ts'
import type { GatewayMetrics } from './domain/metrics.ts'
import type { ModelRoutes } from './domain/model-routing.ts'
import type { OpenCalls } from './domain/open-calls.ts'
import type { TokenCounter } from './domain/token-counter.ts'
import type { UsageRecorder } from './domain/usage-recorder.ts'

/** What the operations work with; one for each region. */
export interface GatewayContext {
  readonly models: ModelRoutes
  /** Looks for backends again, for a caller whose model nobody serves. */
  readonly lookForModels: () => Promise<void>
  readonly circuits: Circuits
  readonly calls: OpenCalls
  readonly recorder: UsageRecorder
  readonly budgets: Budgets
  readonly counter: TokenCounter
  readonly metrics: GatewayMetrics
}
