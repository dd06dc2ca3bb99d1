import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type RunningTask, TaskFailure, type TaskProgram } from '../local/program.ts'
import { LogTail } from './log-tail.ts'
import { type RayJob, type RayJobRequest, RayJobs, RayRefused, type RayWay } from './ray-jobs.ts'

export interface RayDeps extends RayWay {
  readonly pollMs?: number
}

const POLL_MS = 1000
/** Looks in a row that fail before the task does. */
const MOST_FAULTS = 60
const STOP_MS = 10_000
const LOG_END_MS = 5000
const ENDED = ['SUCCEEDED', 'FAILED', 'STOPPED']

interface Wanted {
  readonly job: Omit<RayJobRequest, 'submission_id'>
  readonly address: string
  readonly timeoutSeconds: number | undefined
}

/** @throws TaskFailure naming the argument that is wrong, and why */
function readArguments({ arguments: given, ref }: RunningTask): Wanted {
  const { entrypoint = '', runtimeEnv, rayAddress, rayCluster, timeoutSeconds } = given
  if (entrypoint.trim() === '') throw new TaskFailure('entrypoint must be a command')
  if (rayAddress === undefined) {
    throw new TaskFailure(
      rayCluster === undefined
        ? 'rayAddress is needed'
        : 'rayCluster needs an engine on Kubernetes; the local engine takes rayAddress',
    )
  }
  if (!URL.canParse(rayAddress) || !/^https?:$/.test(new URL(rayAddress).protocol)) {
    throw new TaskFailure('rayAddress must begin with http:// or https://')
  }
  const count = (name: 'entrypointNumCpus' | 'entrypointNumGpus'): number | undefined => {
    const text = given[name]
    if (text === undefined) return undefined
    if (!/^\d{1,10}(\.\d{1,6})?$/.test(text)) throw new TaskFailure(`${name} must be a number`)
    return Number(text)
  }
  const [cpus, gpus] = [count('entrypointNumCpus'), count('entrypointNumGpus')]
  return {
    address: rayAddress,
    timeoutSeconds: timeoutSeconds === undefined ? undefined : Number(timeoutSeconds),
    job: {
      entrypoint,
      metadata: { atrium_run: ref.runId, atrium_task: ref.task },
      ...(runtimeEnv === undefined ? {} : { runtime_env: readObject(runtimeEnv) }),
      ...(cpus === undefined ? {} : { entrypoint_num_cpus: cpus }),
      ...(gpus === undefined ? {} : { entrypoint_num_gpus: gpus }),
    },
  }
}

function readObject(text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {}
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TaskFailure('runtimeEnv must be a JSON object')
  }
  return value as Record<string, unknown>
}

/** The same for whoever takes the task up again, so that a job that runs already is followed and not begun twice. */
const submissionOf = ({ ref }: RunningTask): string =>
  `atrium-${ref.runId}-${ref.attempt}-${createHash('sha256').update(ref.task).digest('hex').slice(0, 16)}`

/** What another process goes on with: the job is left to it. Anything else that ends a task ends its job. */
const isTakenOver = ({ reason }: AbortSignal): boolean => reason === 'lost' || reason === 'closing'

/** Template `submit-ray-job`: a job on a Ray cluster, by its Jobs interface, followed to its end. */
export const submitRayJob =
  (deps: RayDeps): TaskProgram =>
  async (task) => {
    const { job, address, timeoutSeconds } = readArguments(task)
    const jobs = new RayJobs(address, task.arguments.token, deps)
    const id = submissionOf(task)
    const timeout = timeoutSeconds === undefined ? undefined : AbortSignal.timeout(timeoutSeconds * 1000)
    const signal = timeout === undefined ? task.signal : AbortSignal.any([task.signal, timeout])
    let tail: LogTail | undefined
    try {
      await begin(task, jobs, { ...job, submission_id: id }, signal)
      tail = new LogTail(jobs, id, (line) => task.log(line))
      const ended = await untilEnded(jobs, id, signal, deps.pollMs ?? POLL_MS)
      await tail.finish(LOG_END_MS)
      judge(ended, tail.lastLines)
    } catch (error) {
      await tail?.close()
      if (!signal.aborted) throw error instanceof TaskFailure ? error : new TaskFailure(reasonOf(error))
      if (!isTakenOver(task.signal)) await stop(task, jobs, id)
      if (task.signal.aborted) throw error
      throw new TaskFailure(`the job took longer than ${timeoutSeconds} seconds and was stopped`)
    }
  }

async function begin(
  task: RunningTask,
  jobs: RayJobs,
  job: RayJobRequest,
  signal: AbortSignal,
): Promise<void> {
  if ((await jobs.find(job.submission_id, signal)) === undefined) {
    await jobs.submit(job, signal)
    task.log(`submitted as ${job.submission_id}`)
  } else task.log(`following ${job.submission_id}, which was submitted before`)
}

async function untilEnded(jobs: RayJobs, id: string, signal: AbortSignal, pollMs: number): Promise<RayJob> {
  for (let faults = 0; ; ) {
    await delay(pollMs, undefined, { signal })
    try {
      const job = await jobs.find(id, signal)
      if (job === undefined) throw new TaskFailure('the cluster does not know the job any more')
      if (ENDED.includes(job.status)) return job
      faults = 0
    } catch (error) {
      const isFinal = error instanceof TaskFailure || (error instanceof RayRefused && error.status < 500)
      if (signal.aborted || isFinal || ++faults >= MOST_FAULTS) throw error
    }
  }
}

function judge({ status, message, driver_exit_code }: RayJob, lastLines: string): void {
  if (status === 'SUCCEEDED') return
  const code = typeof driver_exit_code === 'number' ? ` (exit code ${driver_exit_code})` : ''
  const how = status === 'STOPPED' ? 'was stopped' : 'failed'
  throw new TaskFailure(
    [`the Ray job ${how}${code}`, message ?? '', lastLines].filter((part) => part !== '').join('\n'),
  )
}

async function stop(task: RunningTask, jobs: RayJobs, id: string): Promise<void> {
  try {
    await jobs.stop(id, AbortSignal.timeout(STOP_MS))
    task.log('the Ray job was told to stop')
  } catch (error) {
    // It was not submitted yet.
    if (error instanceof RayRefused && error.status === 404) return
    task.log(`the Ray job could not be told to stop: ${reasonOf(error)}`)
  }
}

/** Errors of fetch say why in their cause. */
function reasonOf(error: unknown): string {
  let at = error as Error
  while (at.cause instanceof Error) at = at.cause
  return at.message.slice(0, 1000)
}
