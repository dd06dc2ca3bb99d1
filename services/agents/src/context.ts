import type { AuditLog } from '@atrium/access'
import type { Logger } from '@atrium/kernel/log'
import type { KeyedSemaphore, Semaphore } from '@atrium/kernel/semaphore'
import type { Encoder } from './adapters/encoding/encoder.ts'
import type { Retrieval } from './adapters/lancedb/retrieval.ts'
import type { Vocabulary } from './domain/keyword/vocabulary.ts'
import type { LeakyBuckets } from './domain/leaky-buckets.ts'
import type { Upkeep } from './domain/upkeep.ts'
import type { ModelCatalogue } from './ports.ts'
import type { AgentsDb } from './queries/tables.ts'

/** What the handlers work with; made once, in `createAgents`. */
export interface AgentsContext {
  readonly db: AgentsDb
  readonly models: ModelCatalogue
  readonly log: Logger
  readonly audit: AuditLog
  /** The files of vector stores. */
  readonly retrieval: Retrieval
  /** Makes rows of the bodies of batches. */
  readonly encoder: Encoder
  /** The words that stores hold. */
  readonly vocabulary: Vocabulary
  readonly upkeep: Upkeep
  /** Searches that run at once: each takes memory, and more than these are no faster together. */
  readonly searches: Semaphore
  /** Batches that are read at once, by space. */
  readonly uploads: KeyedSemaphore
  /** Numbers that come into a store while it is searched. */
  readonly ingestRate: LeakyBuckets
}
