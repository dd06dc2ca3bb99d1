import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import {
  createDatabase,
  createNotifications,
  createPool,
  type DatabasePool,
  type Notifications,
} from '@atrium/kernel/db'
import { newId } from '@atrium/kernel/ids'
import { createLogger } from '@atrium/kernel/log'
import { cloneTemplate } from '@atrium/testing'
import { inject } from 'vitest'
import {
  createLocalEngine,
  type LocalEngine,
  type LocalEngineOptions,
} from '../../src/adapters/local/engine.ts'
import type { EngineRun, RunRef } from '../../src/ports.ts'
import type { WorkflowsTables } from '../../src/queries/tables.ts'
import type { Behaviour, EngineUnderTest } from './engine-contract.ts'
import { LIMITS } from './limits.ts'
import { MemoryOutput } from './memory-output.ts'
import { PLAIN_ARGUMENTS, scriptTask, shell, signalsIn } from './shell.ts'

const log = createLogger({ level: process.env.TEST_LOG_LEVEL ?? 'silent', fd: 2 })

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

function scriptOf(behaviour: Behaviour, signals: string): string {
  switch (behaviour.kind) {
    case 'succeed':
      return ':'
    case 'fail':
      return `echo ${quoted(behaviour.line)}; exit 3`
    case 'wait':
      return `until [ -e ${quoted(path.join(signals, behaviour.name))} ]; do sleep 0.02; done`
    case 'append':
      return `printf '%s\\n' ${quoted(behaviour.line)} >> ${quoted(behaviour.file)}`
    case 'print':
      return `cat ${quoted(behaviour.file)}`
    case 'fail first':
      return `[ -e ${quoted(behaviour.file)} ] || { : > ${quoted(behaviour.file)}; exit 3; }`
  }
}

export interface LocalEngineTest extends EngineUnderTest {
  readonly engine: LocalEngine
  readonly output: MemoryOutput
  readonly pool: DatabasePool
  readonly databaseUrl: string
  readonly dataDir: string
  readonly spaceId: string
  /** Another engine beside it, as in another process. */
  another(options?: Partial<LocalEngineOptions>): Promise<LocalEngine>
  /** Records and submits a run of one script. */
  run(script: string, more?: Readonly<Record<string, string>>, inSpace?: string): Promise<EngineRun>
  folderOfRun(ref: Pick<RunRef, 'spaceId' | 'runId'>): string
}

export async function startLocalEngine(
  options: Partial<Omit<LocalEngineOptions, 'secrets'>> & { secrets?: Readonly<Record<string, string>> } = {},
): Promise<LocalEngineTest> {
  const database = await cloneTemplate(inject('databaseAdminUrl'))
  const dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-engine-'))
  const signals = signalsIn(dataDir)
  await mkdir(signals)
  await writeFile(path.join(dataDir, 'master.key'), 'the platform’s own', { mode: 0o644 })
  const pool = createPool(database.url, { max: 8, applicationName: 'test', log })
  const notifications = createNotifications({ url: database.url, log })
  const db = createDatabase<WorkflowsTables>(pool)
  const output = new MemoryOutput()
  const spaceId = newId()
  const closing: (() => Promise<unknown>)[] = []
  await pool.query(
    `INSERT INTO portal.spaces (space_id, space_name, app_id, created_by_id, created_by_name, modified_by_id, modified_by_name)
     VALUES ($1, 's', 'a', 'x', 'x', 'x', 'x')`,
    [spaceId],
  )
  const { secrets = {}, ...given } = options
  const start = async (more: Partial<LocalEngineOptions>, listener: Notifications): Promise<LocalEngine> => {
    const engine = await createLocalEngine({
      db,
      notifications: listener,
      log,
      dataDir,
      output,
      secrets: { open: async (_space, names) => new Map(names.map((name) => [name, secrets[name] ?? ''])) },
      arguments: PLAIN_ARGUMENTS,
      programs: new Map([['shell', shell]]),
      limits: LIMITS,
      slots: 4,
      slotsOfSpace: 4,
      environment: {},
      ...given,
      ...more,
      readable: [signals, ...(given.readable ?? [])],
    })
    closing.unshift(() => engine.close())
    return engine
  }
  const engine = await start({}, notifications)

  async function record(
    { maxParallelRuns, workflowId = `w-${newId()}` }: Parameters<EngineUnderTest['record']>[0] = {},
    inSpace = spaceId,
  ) {
    const runId = newId()
    await pool.query(
      `INSERT INTO workflows.workflows (space_id, workflow_id, name, max_parallel_runs) VALUES ($1, $2, 'w', $3)
       ON CONFLICT DO NOTHING`,
      [inSpace, workflowId, maxParallelRuns ?? null],
    )
    await pool.query(
      `INSERT INTO workflows.runs (space_id, workflow_id, run_id, stage, version_id, resolved_configuration, plan, engine,
         status, created_by) VALUES ($1, $2, $3, 'test', 'v', '{}', '[]', 'local', 'Pending', 'x')`,
      [inSpace, workflowId, runId],
    )
    return { spaceId: inSpace, workflowId, runId }
  }
  return {
    engine,
    output,
    pool,
    databaseUrl: database.url,
    dataDir,
    spaceId,
    record: (given) => record(given),
    another: (more = {}) => start(more, notifications),
    behave: (behaviour) => scriptTask(scriptOf(behaviour, signals)),
    async release(name) {
      await writeFile(path.join(signals, name), '', { mode: 0o644 })
    },
    logOf: async (ref, task) => output.logOf({ ...ref, task }),
    async run(script, more, inSpace) {
      const run = {
        ...(await record({}, inSpace)),
        attempt: 1,
        finished: [],
        tasks: [{ name: 'task', dependencies: [], ...scriptTask(script, more) }],
      }
      await engine.submit(run)
      return run
    },
    folderOfRun: (ref) => path.join(dataDir, 'workflows', 'spaces', ref.spaceId, 'runs', ref.runId),
    async close() {
      for (const close of closing) await close()
      await notifications.close()
      await pool.end()
      await database.drop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
