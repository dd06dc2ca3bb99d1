import type { Logger } from '@atrium/kernel/log'
import type { Encoder } from '../adapters/encoding/encoder.ts'
import type { Retrieval } from '../adapters/lancedb/retrieval.ts'
import type { ModelCatalogue } from '../ports.ts'
import type { AgentsDb } from '../queries/tables.ts'
import type { Vocabulary } from './keyword/vocabulary.ts'
import type { Pace } from './pace.ts'
import type { Turns, TurnsOfEach } from './turns.ts'
import type { Upkeep } from './upkeep.ts'

/** What the handlers work with; made once, in `createAgents`. */
export interface AgentsContext {
  readonly db: AgentsDb
  readonly models: ModelCatalogue
  readonly log: Logger
  /** The files of vector stores. */
  readonly retrieval: Retrieval
  /** Makes rows of the bodies of batches. */
  readonly encoder: Encoder
  /** The words that stores hold. */
  readonly vocabulary: Vocabulary
  readonly upkeep: Upkeep
  /** Searches that run at once: each takes memory, and more than these are no faster together. */
  readonly searches: Turns
  /** Batches that are read at once, by space. */
  readonly uploads: TurnsOfEach
  /** Numbers that come into a store while it is searched. */
  readonly pace: Pace
}
