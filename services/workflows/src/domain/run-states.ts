import type { EngineRunState, EngineTaskState, TaskStatus } from '../ports.ts'
import type { RunStatus } from '../queries/tables.ts'

/** What may follow what. Observations come late and out of order: what does not stand here is an old one. */
export const RUN_TRANSITIONS: Readonly<Record<RunStatus, readonly RunStatus[]>> = {
  Pending: ['Running', 'Succeeded', 'Failed', 'Cancelling', 'Cancelled'],
  Running: ['Succeeded', 'Failed', 'Cancelling', 'Cancelled'],
  // It may have ended by itself before it was told.
  Cancelling: ['Cancelled', 'Succeeded', 'Failed'],
  Succeeded: [],
  // By a retry alone.
  Failed: ['Pending'],
  Cancelled: [],
}

export const TASK_TRANSITIONS: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
  Pending: ['Running', 'Succeeded', 'Failed', 'Skipped', 'Cancelled'],
  Running: ['Succeeded', 'Failed', 'Cancelled'],
  Succeeded: [],
  // These three by a retry alone.
  Failed: ['Pending'],
  Skipped: ['Pending'],
  Cancelled: ['Pending'],
}

const ENDED: readonly RunStatus[] = ['Succeeded', 'Failed', 'Cancelled']
export const isEnded = (status: RunStatus): boolean => ENDED.includes(status)

/** A task as the service has it on record. Times as the API shows them. */
export interface RecordedTask {
  readonly name: string
  readonly status: TaskStatus
  readonly attempt: number
  readonly message: string
  readonly startedAt: string | null
  readonly completedAt: string | null
}

export interface RecordedRun {
  readonly status: RunStatus
  readonly message: string
  readonly startedAt: Date | null
  readonly completedAt: Date | null
  readonly tasks: readonly RecordedTask[]
}

/** What an observation changes of a run on record. */
export interface RunChange {
  readonly status: RunStatus
  readonly message: string
  readonly startedAt: Date | null
  readonly completedAt: Date | null
  /** Those tasks alone that are not as they were. */
  readonly tasks: readonly RecordedTask[]
}

const LONGEST_MESSAGE = 4000

/** Text that PostgreSQL takes, however it was cut. */
const messageOf = (text: string): string =>
  text.slice(0, LONGEST_MESSAGE).replaceAll('\0', '�').toWellFormed()

const shown = (date: Date | undefined): string | null => date?.toISOString() ?? null

function taskAfter(recorded: RecordedTask, seen: EngineTaskState): RecordedTask {
  const isSame = recorded.status === seen.status
  if (!isSame && !TASK_TRANSITIONS[recorded.status].includes(seen.status)) return recorded
  // A retry is the service's own act; an engine that still shows the earlier attempt shows the past.
  if (!isSame && seen.status === 'Pending') return recorded
  const next: RecordedTask = {
    ...recorded,
    status: seen.status,
    message: messageOf(seen.message),
    startedAt: shown(seen.startedAt) ?? recorded.startedAt,
    completedAt: shown(seen.completedAt) ?? recorded.completedAt,
  }
  const keys = ['status', 'message', 'startedAt', 'completedAt'] as const
  return keys.every((key) => next[key] === recorded[key]) ? recorded : next
}

/** How a run stands whose tasks stand so. */
function statusOf(now: RunStatus, state: EngineRunState, tasks: readonly RecordedTask[]): RunStatus {
  if (state.isEnded) {
    if (tasks.every(({ status }) => status === 'Succeeded')) return 'Succeeded'
    return state.isCancelled ? 'Cancelled' : 'Failed'
  }
  if (now === 'Cancelling') return now
  return tasks.some(({ status, startedAt }) => status === 'Running' || startedAt !== null)
    ? 'Running'
    : 'Pending'
}

/** What people are told of how far a run is. */
export function progressOf(
  status: RunStatus,
  tasks: readonly Pick<RecordedTask, 'name' | 'status' | 'message'>[],
): string {
  const done = tasks.filter((task) => task.status === 'Succeeded').length
  const failed = tasks.filter((task) => task.status === 'Failed')
  const [first] = failed
  if (status === 'Cancelling') return 'Cancellation requested'
  if (first !== undefined) {
    const others = failed.length === 1 ? '' : ` (and ${failed.length - 1} more)`
    return messageOf(`Task ${first.name}${others} failed${first.message === '' ? '' : `: ${first.message}`}`)
  }
  return `${done} of ${tasks.length} tasks succeeded`
}

const latest = (dates: readonly (string | null)[]): Date | undefined => {
  const times = dates.flatMap((date) => (date === null ? [] : [Date.parse(date)]))
  return times.length === 0 ? undefined : new Date(Math.max(...times))
}

/** Tasks of a run that ended which the engine said nothing of never ran. */
const closed = (task: RecordedTask, isCancelled: boolean): RecordedTask =>
  task.status === 'Pending' || task.status === 'Running'
    ? { ...task, status: isCancelled || task.status === 'Running' ? 'Cancelled' : 'Skipped' }
    : task

/**
 * What is to be written down after an engine was asked about a run.
 * @param now of the record keeper, for the end of a run none of whose tasks tells one
 * @returns undefined when everything is on record already
 */
export function changeBy(run: RecordedRun, state: EngineRunState, now: Date): RunChange | undefined {
  if (isEnded(run.status)) return undefined
  const seen = new Map(state.tasks.map((task) => [task.name, task]))
  const after = run.tasks.map((task) => {
    const observed = seen.get(task.name)
    const next = observed === undefined ? task : taskAfter(task, observed)
    return state.isEnded ? closed(next, state.isCancelled) : next
  })
  const wanted = statusOf(run.status, state, after)
  const status = wanted === run.status || RUN_TRANSITIONS[run.status].includes(wanted) ? wanted : run.status
  const started = after.flatMap(({ startedAt }) => (startedAt === null ? [] : [Date.parse(startedAt)]))
  const change: RunChange = {
    status,
    message: progressOf(status, after),
    startedAt: run.startedAt ?? (started.length === 0 ? null : new Date(Math.min(...started))),
    completedAt: isEnded(status) ? (latest(after.map(({ completedAt }) => completedAt)) ?? now) : null,
    tasks: after.filter((task, index) => task !== run.tasks[index]),
  }
  const isSame =
    change.status === run.status &&
    change.message === run.message &&
    change.startedAt?.getTime() === run.startedAt?.getTime() &&
    change.tasks.length === 0
  return isSame ? undefined : change
}
