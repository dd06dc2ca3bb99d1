import type { AuditLog } from '@atrium/access'
import type { EnvValues } from '@atrium/kernel/config'
import type { PlatformDeps } from '@atrium/kernel/deps'
import type { workflowsEnv } from './config.ts'
import type { PageTokens } from './domain/page-tokens.ts'
import type { BlobStore } from './domain/results/blob-store.ts'
import type { RunKeeper } from './domain/run-keeper.ts'
import type { Followers } from './domain/runs/followers.ts'
import type { SpaceDirectory, WorkflowEngine } from './ports.ts'
import type { WorkflowsDb } from './queries/tables.ts'

/** What the handlers work with; made once, in `createWorkflows`. */
export interface WorkflowsContext
  extends Pick<PlatformDeps, 'log' | 'jobs' | 'masterKey' | 'notifications' | 'publicUrl' | 'dataDir'> {
  readonly db: WorkflowsDb
  readonly env: EnvValues<typeof workflowsEnv>
  readonly audit: AuditLog
  readonly pageTokens: PageTokens
  readonly spaces: SpaceDirectory
  /** Undefined: runs can be read, and none can be made. */
  readonly engine: WorkflowEngine | undefined
  readonly keeper: RunKeeper
  /** Files of artifacts. */
  readonly blobs: BlobStore
  /** Those who wait for more of a log. */
  readonly logFollowers: Followers
  /** Those who wait for changes of runs. */
  readonly runFollowers: Followers
}
