import type { Notifications } from '@atrium/kernel/db'
import type { Logger } from '@atrium/kernel/log'
import type {
  EngineRun,
  EngineRunState,
  PlannedTask,
  RunRef,
  SecretValues,
  TaskOutput,
  WorkflowEngine,
} from '../../ports.ts'
import {
  cancelLocalRun,
  deleteLocalRun,
  insertLocalRun,
  LOCAL_ENGINE_CHANNEL,
  type NewLocalTask,
  replaceLocalRun,
  selectLocalRun,
} from '../../queries/local-runs.ts'
import type { WorkflowsDb } from '../../queries/tables.ts'
import type { TaskArguments } from './execute.ts'
import { Folders } from './folders.ts'
import { Holdings } from './holdings.ts'
import type { TaskLimits } from './limits.ts'
import type { TaskProgram } from './program.ts'
import { chooseConfinement } from './sandbox/choose.ts'
import type { Confinement, Mode } from './sandbox/confinement.ts'
import { admit } from './settle.ts'
import { SpaceUse } from './space-use.ts'
import { Worker } from './worker.ts'

export interface LocalEngineOptions {
  readonly db: WorkflowsDb
  readonly notifications: Notifications
  readonly log: Logger
  /** The platform's data folder; the engine's own lies in it, as `workflows`. */
  readonly dataDir: string
  readonly output: TaskOutput
  readonly secrets: SecretValues
  readonly arguments: TaskArguments
  /** By name of template. */
  readonly programs: ReadonlyMap<string, TaskProgram>
  readonly limits: TaskLimits
  /** Tasks at once in this process; 0: it runs none. */
  readonly slots: number
  /** Of these, for one space. */
  readonly slotsOfSpace: number
  /** Given to every process of a task. */
  readonly environment: Readonly<Record<string, string>>
  /** Folders that programs need although they may lie in a home. */
  readonly readable: readonly string[]
  /** For tests: confine in this way, or fail. */
  readonly mode?: Mode
}

export interface LocalEngine extends WorkflowEngine {
  /** Undefined in a process that runs no tasks. */
  readonly confinement: Confinement | undefined
  /** Removes all files of a space. */
  removeSpace(spaceId: string): Promise<void>
}

interface LocalTaskRow extends NewLocalTask {
  readonly spec: PlannedTask
}

const indexOf = (tasks: readonly PlannedTask[]): Map<string, string[]> => {
  const dependents = new Map(tasks.map(({ name }) => [name, [] as string[]]))
  for (const { name, dependencies } of tasks) {
    for (const dependency of new Set(dependencies)) dependents.get(dependency)?.push(name)
  }
  return dependents
}

/** @param most of those that are ready, so many are begun by `worker` */
function rowsOf({ tasks, finished }: EngineRun, worker?: string, most = 0): LocalTaskRow[] {
  const dependents = indexOf(tasks)
  const isFinished = new Set(finished)
  let left = most
  return tasks.map((task, position) => {
    const waiting = [...new Set(task.dependencies)].filter((name) => !isFinished.has(name)).length
    const isBegun = waiting === 0 && !isFinished.has(task.name) && left-- > 0
    return {
      name: task.name,
      position,
      waiting,
      dependents: dependents.get(task.name) ?? [],
      spec: task,
      isFinished: isFinished.has(task.name),
      worker: isBegun ? (worker ?? null) : null,
    }
  })
}

async function confine(options: LocalEngineOptions, folders: Folders): Promise<Confinement> {
  const { log, dataDir, readable, limits, mode } = options
  const confinement = await chooseConfinement({
    dataDir,
    folder: folders.sandbox,
    scratch: folders.root,
    readable,
    limits,
    log,
    only: mode,
  })
  const { enforced, open } = confinement.about
  log.info(
    { mode: confinement.mode, enforced, notEnforced: open },
    'how tasks of workflows are confined here',
  )
  return confinement
}

/** The engine that runs tasks as processes of this machine. Its state is in the database, its files in the data folder. */
export async function createLocalEngine(options: LocalEngineOptions): Promise<LocalEngine> {
  const { db, notifications, slots } = options
  const folders = await Folders.open(`${options.dataDir}/workflows`)
  const listeners = new Set<(ref: Omit<RunRef, 'attempt'>) => void>()
  const tell = ({ spaceId, runId }: Omit<RunRef, 'attempt'>): void => {
    for (const listener of listeners) listener({ spaceId, runId })
  }
  const confinement = slots > 0 ? await confine(options, folders) : undefined
  const use = new SpaceUse({ ...options, folders })
  const parts = { folders, use, holdings: new Holdings(), onChange: tell }
  const worker = confinement === undefined ? undefined : new Worker({ ...options, ...parts, confinement })
  let isClosed = false
  await notifications.subscribe(LOCAL_ENGINE_CHANNEL, (payload) => {
    if (isClosed) return
    const [word, spaceId = '', runId = ''] = payload.split(' ')
    if (word === 'ready') worker?.wake()
    if (word === 'cancel') worker?.cancel({ spaceId, runId })
  })
  worker?.start()

  async function submitNew(run: EngineRun): Promise<'Waiting' | 'Open' | 'Ended' | undefined> {
    const row = { ...run, folder: folders.id }
    if (worker === undefined) return await insertLocalRun(db, { ...row, tasks: rowsOf(run) })
    let state: Awaited<ReturnType<typeof insertLocalRun>>
    const ready = run.tasks.filter((task) => task.dependencies.length === 0).length
    await worker.beginNew(run.spaceId, ready, async (most) => {
      const tasks = rowsOf(run, worker.id, most)
      state = await insertLocalRun(db, { ...row, tasks })
      if (state !== 'Open') return []
      const { spaceId, runId, attempt } = run
      const begun = tasks.filter((task) => task.worker !== null)
      return begun.map((task) => ({ ...task, spaceId, runId, attempt, starts: 1 }))
    })
    return state
  }

  async function submit(run: EngineRun): Promise<void> {
    const state =
      run.attempt === 1
        ? await submitNew(run)
        : await db
            .transaction()
            .execute((trx) => replaceLocalRun(trx, { ...run, folder: folders.id, tasks: rowsOf(run) }))
    if (state === 'Waiting') await admit(db, run)
    if (state === 'Open' && run.attempt > 1) worker?.wake()
  }

  async function observe(ref: RunRef): Promise<EngineRunState | undefined> {
    const rows = await selectLocalRun(db, ref)
    const [first] = rows
    if (first === undefined || first.attempt < ref.attempt) return undefined
    const { attempt, isEnded, isCancelled } = first
    const tasks = rows.map(({ name, status, message, startedAt, completedAt }) => ({
      name,
      status,
      message,
      startedAt: startedAt ?? undefined,
      completedAt: completedAt ?? undefined,
    }))
    return { attempt, isEnded, isCancelled, tasks }
  }

  return {
    name: 'local',
    confinement,
    submit,
    observe,
    async cancel(ref) {
      const run = await db.transaction().execute((trx) => cancelLocalRun(trx, ref, ref.attempt))
      if (run === undefined) return
      worker?.cancel(ref)
      if (run.isEnded) {
        await folders.removeRun(ref)
        use.touch(ref.spaceId)
        await admit(db, { ...ref, workflowId: run.workflowId })
      }
      tell(ref)
    },
    async remove(ref) {
      if (await deleteLocalRun(db, ref)) await folders.removeRun(ref)
      use.touch(ref.spaceId)
    },
    removeSpace: (spaceId) => folders.removeSpace(spaceId).finally(() => use.touch(spaceId)),
    onChange: (listener) => void listeners.add(listener),
    async close() {
      isClosed = true
      await worker?.close()
    },
  }
}
