import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import {
  createDatabase,
  createNotifications,
  createPool,
  ensureServerRole,
  serverUrlOf,
  startEmbeddedPostgres,
} from '@atrium/kernel/db'
import { newId } from '@atrium/kernel/ids'
import { createLogger } from '@atrium/kernel/log'
import { freePort, TEST_CREDENTIALS } from '@atrium/testing'
import { parseConfig } from '../../apps/server/src/config.ts'
import { startPlatform } from '../../apps/server/src/platform.ts'
import { createLocalEngine } from '../../services/workflows/src/adapters/local/engine.ts'
import type { TaskLimits } from '../../services/workflows/src/adapters/local/limits.ts'
import type { TaskProgram } from '../../services/workflows/src/adapters/local/program.ts'
import type { TaskOutput } from '../../services/workflows/src/ports.ts'
import type { WorkflowsTables } from '../../services/workflows/src/queries/tables.ts'

export const SCRIPT = 'import time; time.sleep(0.01)'

const nothing: TaskOutput = {
  begin: async () => {},
  appendLog: async () => {},
  appendMetrics: async () => 0,
  keepArtifact: async () => undefined,
}

const limits: TaskLimits = {
  seconds: 600,
  processorSeconds: 600,
  memoryMb: 4096,
  processes: 1024,
  fileMb: 1024,
  openFiles: 1024,
  workspaceMb: 1024,
  workspaceFiles: 200_000,
  spaceMb: 102_400,
  spaceFiles: 1_000_000,
  diskReserveMb: 16,
}

export type BenchEngine = Awaited<ReturnType<typeof startEngine>>

/** A local engine on a PostgreSQL that waits for its disk, confined as this machine allows. */
export async function startEngine(python: string, slots: number) {
  const folder = await mkdtemp(path.join(tmpdir(), 'atrium-bench-'))
  const [postgres, dataDir] = ['postgres', 'data'].map((name) => path.join(folder, name)) as [string, string]
  await Promise.all([mkdir(postgres), mkdir(dataDir)])
  const server = await startEmbeddedPostgres({ dataDir: postgres })
  await ensureServerRole(server.url)
  const url = serverUrlOf(server.url)
  const config = parseConfig({
    ...TEST_CREDENTIALS,
    ATRIUM_LOG_LEVEL: 'silent',
    ATRIUM_SANDBOX: 'on',
    ATRIUM_PROBE_LOCAL_MODELS: 'false',
    ATRIUM_BACKGROUND_JOBS: 'false',
    ATRIUM_DATA_DIR: dataDir,
    ATRIUM_PORT: String(await freePort()),
    DATABASE_URL: url,
  })
  // It makes the tables.
  await (await startPlatform(config, { databaseUrl: url, ownerUrl: server.url })).close()
  const log = createLogger({ level: 'warn', fd: 2 })
  const pool = createPool(url, { max: 10, applicationName: 'bench', log })
  const notifications = createNotifications({ url, log })
  const engine = await createLocalEngine({
    db: createDatabase<WorkflowsTables>(pool),
    notifications,
    log,
    dataDir,
    output: nothing,
    secrets: { open: async () => new Map() },
    arguments: { secretsOf: () => [], fill: (task) => ({ arguments: task.arguments, missing: [] }) },
    programs: new Map<string, TaskProgram>([
      ['sleep', async (task) => void (await task.exec(python, ['-I', '-c', SCRIPT]))],
      ['nothing', async () => {}],
    ]),
    limits,
    slots,
    slotsOfSpace: slots,
    environment: {},
    readable: [],
  })
  const spaceId = newId()
  await pool.query(
    `INSERT INTO portal.spaces (space_id, space_name, app_id, created_by_id, created_by_name, modified_by_id, modified_by_name)
     VALUES ($1, 's', 'a', 'x', 'x', 'x', 'x')`,
    [spaceId],
  )
  await pool.query(
    `INSERT INTO workflows.workflows (space_id, workflow_id, name) VALUES ($1, 'bench', 'b')`,
    [spaceId],
  )
  const waiting = new Map<string, () => void>()
  engine.onChange(({ runId }) => waiting.get(runId)?.())

  /** Records and runs a plan to its end. @returns how many of its tasks succeeded */
  async function run(
    program: 'sleep' | 'nothing',
    plan: Readonly<Record<string, readonly string[]>>,
  ): Promise<number> {
    const ref = { spaceId, workflowId: 'bench', runId: newId(), attempt: 1 }
    await pool.query(
      `INSERT INTO workflows.runs (space_id, workflow_id, run_id, stage, version_id, resolved_configuration, plan, engine,
         status, created_by) VALUES ($1, 'bench', $2, 'test', 'v', '{}', '[]', 'local', 'Pending', 'x')`,
      [spaceId, ref.runId],
    )
    const template = { name: program, version: 'v1.0.0' }
    const tasks = Object.entries(plan).map(([name, dependencies]) => ({
      name,
      template,
      dependencies,
      arguments: {},
    }))
    const ended = new Promise<number>((resolve, reject) => {
      // Each task is announced when it begins and when it ends.
      let told = 0
      const look = (): void => {
        if (++told < 2 * tasks.length) return
        engine.observe(ref).then((state) => {
          if (state?.isEnded !== true) return
          waiting.delete(ref.runId)
          resolve(state.tasks.filter(({ status }) => status === 'Succeeded').length)
        }, reject)
      }
      waiting.set(ref.runId, look)
    })
    await engine.submit({ ...ref, tasks, finished: [] })
    return ended
  }
  const { confinement } = engine
  const own = path.join(dataDir, 'workflows', 'own')
  await mkdir(own)

  /** One process in the confinement, without the engine. */
  async function confined(): Promise<void> {
    const launch = await confinement?.launch({
      command: python,
      args: ['-I', '-c', SCRIPT],
      cwd: own,
      env: { PATH: '/usr/bin:/bin' },
      merges: true,
      uid: confinement.uidOf(spaceId) ?? 0,
      writable: [own],
      limits,
    })
    if (launch === undefined) return
    const { command, args, env, cwd } = launch
    await once(spawn(command, args, { env, cwd, stdio: 'ignore' }), 'exit')
    launch.close()
  }
  return {
    engine,
    run,
    confined,
    async close() {
      await engine.close()
      await notifications.close()
      await pool.end()
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
