import { type AuditLog, createRateLimits, type GuardDeps, rateLimitOf } from '@atrium/access'
import type { EnvValues } from '@atrium/kernel/config'
import { createDatabase } from '@atrium/kernel/db'
import type { PlatformDeps } from '@atrium/kernel/deps'
import { type HttpServer, mountService } from '@atrium/kernel/http'
import type { Job } from '@atrium/kernel/jobs'
import { openBlobStore } from './adapters/results/open-store.ts'
import type { workflowsEnv } from './config.ts'
import type { WorkflowsContext } from './context.ts'
import { ErrorBody } from './contract/common.ts'
import { TAGS } from './contract/tags.ts'
import { givenEngine, openEngine } from './create-engine.ts'
import { demandBuiltEngine } from './domain/engine-choice.ts'
import { PageTokens } from './domain/page-tokens.ts'
import { RunKeeper } from './domain/run-keeper.ts'
import { Followers } from './domain/runs/followers.ts'
import { formatError, tooManyFollowers, tooManyLogReaders } from './errors.ts'
import { removeSpacesJob } from './jobs/remove-spaces.ts'
import { resultsJobs } from './jobs/results.ts'
import { runUpkeep } from './jobs/upkeep.ts'
import type { SpaceDirectory, WorkflowEngine } from './ports.ts'
import { RUN_CHANGED } from './queries/run-changes.ts'
import { LOG_GREW } from './queries/run-logs.ts'
import type { WorkflowsTables } from './queries/tables.ts'
import { workflowsRoutes } from './routes/index.ts'

export { workflowsAccess } from './access.ts'
export type { SpaceDirectory, WorkflowEngine } from './ports.ts'
export { workflowsEnv, workflowsMigrations, workflowsSealed } from './setup.ts'

export interface WorkflowsDeps extends PlatformDeps {
  readonly env: EnvValues<typeof workflowsEnv>
  /** Of the platform: where it is `production`, the local engine must be asked for. */
  readonly nodeEnv: string
  /** Who calls, and their roles. */
  readonly access: GuardDeps
  readonly audit: AuditLog
  readonly spaces: SpaceDirectory
  /** Whether this process fires schedules and sees to runs that others left. */
  readonly runsJobs: boolean
  /** Runs tasks in place of the engine that the environment names. */
  readonly engine?: WorkflowEngine | undefined
}

export interface Workflows {
  /** Adds the routes below `/workflows`. */
  mount(app: HttpServer): Promise<void>
  readonly jobs: readonly Job[]
  /** The pool stays open: it is the caller's. */
  close(): Promise<void>
}

/** Builds the service on a migrated database. @throws OperatorError when the chosen engine is not built */
export async function createWorkflows(deps: WorkflowsDeps): Promise<Workflows> {
  const { env, log, audit, jobs, masterKey, notifications, publicUrl, dataDir, spaces } = deps
  demandBuiltEngine(env.ATRIUM_ENGINE)
  const db = createDatabase<WorkflowsTables>(deps.pool)
  const pageTokens = new PageTokens(() => masterKey.deriveAll('workflows/page-tokens'))
  const runFollowers = new Followers([RUN_CHANGED], tooManyFollowers)
  const logFollowers = new Followers([LOG_GREW, RUN_CHANGED], tooManyLogReaders)
  for (const followers of [runFollowers, logFollowers]) await followers.listen(notifications, log)
  const platform = { env, log, audit, jobs, masterKey, notifications, publicUrl, dataDir, spaces }
  const blobs = openBlobStore({ uri: env.ATRIUM_ARTIFACTS_URI, dataDir, endpoint: env.AWS_ENDPOINT })
  const opened =
    deps.engine === undefined ? await openEngine({ ...deps, db, blobs }) : givenEngine(deps.engine)
  const { engine } = opened
  const keeper = new RunKeeper({ db, engine, log })
  const ctx: WorkflowsContext = {
    ...platform,
    db,
    pageTokens,
    engine,
    keeper,
    blobs,
    logFollowers,
    runFollowers,
  }
  const stopUpkeep = deps.runsJobs ? runUpkeep(ctx) : async () => {}
  const limits = createRateLimits({
    ...deps,
    service: 'workflows',
    limit: rateLimitOf(env.ATRIUM_WORKFLOWS_RATE_LIMIT, env.ATRIUM_WORKFLOWS_RATE_LIMIT_BURST),
  })
  return {
    mount: (app) =>
      mountService(app, {
        prefix: '/workflows',
        title: 'Atrium workflows',
        description: 'Workflows: versions, stages, configurations, secrets, triggers and runs.',
        tags: TAGS,
        version: '1.0.0',
        formatError,
        errorBody: ErrorBody,
        routes: (scope) => workflowsRoutes(scope, ctx, deps.access, limits),
      }),
    jobs: [
      removeSpacesJob({ db, spaces: deps.spaces, engine: opened }),
      ...resultsJobs({ db, blobs, engine, days: env.ATRIUM_WORKFLOWS_RETENTION_DAYS }),
    ],
    async close() {
      for (const followers of [runFollowers, logFollowers]) followers.close()
      await stopUpkeep()
      await keeper.close()
      await opened.close()
      blobs.close()
    },
  }
}
