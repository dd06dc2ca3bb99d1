import type { MasterKey } from './crypto/index.ts'
import type { DatabasePool, Notifications } from './db/index.ts'
import type { JobQueue } from './jobs/index.ts'
import type { Logger } from './log.ts'
import type { Registry } from './metrics.ts'

/** What the composition root hands to every service. A service takes from it what it uses, and no more. */
export interface PlatformDeps {
  readonly pool: DatabasePool
  readonly log: Logger
  readonly metrics: Registry
  readonly notifications: Notifications
  /** Also in a process that runs no jobs itself. */
  readonly jobs: JobQueue
  readonly masterKey: MasterKey
  /** The platform's own origin as callers see it, without a slash at its end. */
  readonly publicUrl: string
  /** Folder for files that belong to this process's machine. */
  readonly dataDir: string
}
