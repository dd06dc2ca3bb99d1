import { randomUUID } from 'node:crypto'
import { isUnavailable } from '@atrium/kernel/errors'
import type { Logger } from '@atrium/kernel/log'
import type { PlannedTask, SecretValues, TaskOutput, TaskRef } from '../../ports.ts'
import type { EndStatus, StartedTask } from '../../queries/local-tasks.ts'
import type { TaskFolders } from './folders.ts'
import { createMask } from './log/mask.ts'
import { TaskLog } from './log/task-log.ts'
import { TaskMetrics } from './metrics.ts'
import { TaskFailure, type TaskProgram } from './program.ts'
import { type RunnerDeps, runProgram } from './program-runner.ts'
import { keepArtifacts } from './results.ts'
import type { SpaceUse } from './space-use.ts'

/** Why a task is ended from outside; worn out: too many processes that ran it were lost. */
export type Interruption = 'cancelled' | 'lost' | 'closing' | 'disk' | 'files' | 'worn out'

export type Outcome =
  | { readonly kind: 'ended'; readonly status: EndStatus; readonly message: string }
  /** Not this process's to end: it begins anew, here or elsewhere. */
  | { readonly kind: 'back' }
  | { readonly kind: 'lost' }

export type LocalTask = StartedTask<PlannedTask>

export interface ExecutionDeps extends RunnerDeps {
  readonly output: TaskOutput
  readonly secrets: SecretValues
  readonly programs: ReadonlyMap<string, TaskProgram>
  readonly arguments: TaskArguments
  readonly log: Logger
  readonly use: SpaceUse
}

/** What is known of references in arguments. */
export interface TaskArguments {
  secretsOf(task: PlannedTask): readonly string[]
  /** @returns the arguments as the program gets them, and the names of secrets that there are not */
  fill(
    task: PlannedTask,
    secrets: ReadonlyMap<string, string>,
  ): { readonly arguments: Readonly<Record<string, string>>; readonly missing: readonly string[] }
}

const LONGEST_MESSAGE = 4000

const ended = (status: EndStatus, message: string): Outcome => ({
  kind: 'ended',
  status,
  message: message.slice(0, LONGEST_MESSAGE),
})

/**
 * Runs a task from beginning to end: secrets, folders, its program, its results. Never throws.
 * @param signal aborted from the beginning: the program runs nothing, and ends what an earlier start began elsewhere
 */
export async function execute(deps: ExecutionDeps, task: LocalTask, signal: AbortSignal): Promise<Outcome> {
  const isAftermath = signal.aborted
  try {
    return await executeOnce(deps, task, signal)
  } catch (error) {
    // Its lease runs out, and somebody tries again.
    if (isAftermath && isUnavailable(error)) return { kind: 'lost' }
    if (signal.aborted) return interrupted(signal, task)
    // Somebody begins it anew once the database is there again.
    if (isUnavailable(error)) return { kind: 'back' }
    deps.log.error({ err: error, run: task.runId, task: task.name }, 'the engine failed at a task')
    return ended('Failed', 'The engine failed at this task; the platform’s log says why')
  }
}

function interrupted(signal: AbortSignal, { starts }: Pick<LocalTask, 'starts'>): Outcome {
  const reason = signal.reason as Interruption
  if (reason === 'cancelled') return ended('Cancelled', 'Cancelled')
  if (reason === 'disk') return ended('Failed', DISK)
  if (reason === 'files') return ended('Failed', 'The run’s folder held more files than it may')
  if (reason === 'worn out') return ended('Failed', `The process that ran it was lost ${starts} times`)
  return { kind: reason === 'lost' ? 'lost' : 'back' }
}

const DISK = 'The run’s folder outgrew its limit, or the disk was nearly full'

async function executeOnce(deps: ExecutionDeps, task: LocalTask, signal: AbortSignal): Promise<Outcome> {
  const { spec } = task
  const isAftermath = signal.aborted
  const ref: TaskRef = { spaceId: task.spaceId, runId: task.runId, attempt: task.attempt, task: task.name }
  const program = deps.programs.get(spec.template.name)
  if (program === undefined) {
    if (isAftermath) return interrupted(signal, task)
    return ended('Failed', `The local engine has no template ${spec.template.name}`)
  }
  const refusal = isAftermath || deps.folders.hasRun(task) ? undefined : deps.use.refusal(task.spaceId)
  if (refusal !== undefined) {
    // It may have become less meanwhile.
    deps.use.touch(task.spaceId)
    return ended('Failed', refusal)
  }
  const names = deps.arguments.secretsOf(spec)
  const secrets =
    names.length === 0 ? new Map<string, string>() : await deps.secrets.open(task.spaceId, names)
  const filled = deps.arguments.fill(spec, secrets)
  if (filled.missing.length > 0) {
    if (isAftermath) return interrupted(signal, task)
    return ended('Failed', `The space has no secret ${filled.missing.join(', ')}`)
  }
  if (!isAftermath) await deps.output.begin(ref)
  const folders = await deps.folders.prepare(ref, task.position, deps.confinement.uidOf(task.spaceId))
  const log = new TaskLog(deps.output, ref, createMask(secrets.values()))
  if (task.starts > 1 && !isAftermath)
    log.line('This task begins anew: the process of the platform that ran it was stopped or lost')
  try {
    return await runIt({ deps, task, ref, folders, log, signal, program, args: filled.arguments })
  } finally {
    await deps.folders.removeOwn(folders).catch((error: unknown) => {
      deps.log.warn({ err: error, run: task.runId, task: task.name }, 'the files of a task stay')
    })
    deps.use.touch(task.spaceId)
  }
}

interface Execution {
  readonly deps: ExecutionDeps
  readonly task: LocalTask
  readonly ref: TaskRef
  readonly folders: TaskFolders
  readonly log: TaskLog
  readonly signal: AbortSignal
  readonly program: TaskProgram
  readonly args: Readonly<Record<string, string>>
}

async function runIt(execution: Execution): Promise<Outcome> {
  const { deps, task, ref, folders, log, signal, program, args } = execution
  const marker = randomUUID()
  const until = Date.now() + deps.limits.seconds * 1000
  const of = { runId: task.runId, spaceId: task.spaceId, marker, folders, log, signal, until }
  const metrics = new TaskMetrics(deps.output, ref, folders.metrics)
  const endFollowing = metrics.follow(signal)
  let outcome: Outcome
  try {
    await program({
      ref,
      version: task.spec.template.version,
      arguments: args,
      workspace: folders.workspace,
      cache: folders.cache,
      signal,
      log: (line) => log.line(line),
      exec: (...call) => runProgram(deps, of, call),
    })
    outcome = signal.aborted ? interrupted(signal, task) : ended('Succeeded', '')
  } catch (error) {
    if (signal.aborted) outcome = interrupted(signal, task)
    else if (error instanceof TaskFailure) outcome = ended('Failed', log.shown(error.message))
    else throw error
  } finally {
    await endFollowing()
  }
  if (outcome.kind === 'ended') {
    const say = (line: string): void => log.line(line)
    if (outcome.status !== 'Cancelled') {
      await metrics.finish(say)
      await keepArtifacts(deps.output, ref, folders.artifacts, say)
    }
    if (outcome.status === 'Failed') log.line(outcome.message)
    if (outcome.status === 'Cancelled') log.line('Cancelled')
  }
  await log.flush().catch((error: unknown) => {
    deps.log.warn({ err: error, run: task.runId, task: task.name }, 'a part of a task’s log is lost')
  })
  return outcome
}
