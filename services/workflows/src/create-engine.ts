import type { Notifications } from '@atrium/kernel/db'
import type { Logger } from '@atrium/kernel/log'
import { localEngineOf } from './adapters/local/from-environment.ts'
import { createNetworkPrograms } from './adapters/programs.ts'
import { StoredOutput } from './adapters/results/stored-output.ts'
import type { WorkflowsContext } from './context.ts'
import { engineFor } from './domain/engine-choice.ts'
import { secretValues } from './domain/secrets.ts'
import type { WorkflowEngine } from './ports.ts'

export interface EngineDeps extends Pick<WorkflowsContext, 'db' | 'env' | 'masterKey' | 'dataDir' | 'blobs'> {
  readonly log: Logger
  readonly notifications: Notifications
  readonly nodeEnv: string
  readonly runsJobs: boolean
}

export interface OpenEngine {
  /** Undefined where nobody chose one. */
  readonly engine: WorkflowEngine | undefined
  /** Removes what the engine keeps of a space besides rows. */
  removeSpace(spaceId: string): Promise<void>
  close(): Promise<void>
}

/** The engine that somebody gives, who also closes it. */
export const givenEngine = (engine: WorkflowEngine): OpenEngine => ({
  engine,
  async removeSpace() {},
  async close() {},
})

/** The engine that the environment names. @throws OperatorError where it cannot run here */
export async function openEngine(deps: EngineDeps): Promise<OpenEngine> {
  const { db, env, log, notifications, masterKey, dataDir, blobs, nodeEnv, runsJobs } = deps
  if (engineFor(env.ATRIUM_ENGINE, nodeEnv) === undefined)
    return { engine: undefined, async removeSpace() {}, async close() {} }
  const network = await createNetworkPrograms(env)
  const engine = await localEngineOf({
    db,
    env,
    log,
    notifications,
    dataDir,
    runsJobs,
    output: new StoredOutput(db, blobs, {
      artifactBytesOfSpace: env.ATRIUM_WORKFLOWS_ARTIFACTS_MB_PER_SPACE * 2 ** 20,
    }),
    secrets: secretValues({ db, masterKey }),
    programs: network.programs,
  })
  return {
    engine,
    removeSpace: (spaceId) => engine.removeSpace(spaceId),
    async close() {
      await engine.close()
      await network.close()
    },
  }
}
