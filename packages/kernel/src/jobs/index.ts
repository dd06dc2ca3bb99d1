import { CompiledQuery, type QueryExecutorProvider } from 'kysely'
import { PgBoss, type QueueResult } from 'pg-boss'
import { JOBS_SCHEMA } from '../db/server-role.ts'
import type { Logger } from '../log.ts'

/** A kind of background job: the service that owns it writes its name down once, and what its messages carry. */
export interface JobType<Payload extends object = object> {
  /** Also its queue's name: `<service>.<act>`. */
  readonly name: string
  /** Longest run in seconds; after it the job counts as failed and its signal is aborted. 900 by default. */
  readonly timeoutSeconds?: number
  /** Known to the compiler only, and never set. */
  readonly payload?: Payload
}

/** A background job and what does it. */
export interface Job<Payload extends object = object> extends JobType<Payload> {
  /** Cron expression (UTC) for work that repeats; one process of all runs each tick. */
  readonly cron?: string
  /**
   * Runs once per message; throwing makes pg-boss try again (three times, with growing waits), and so does the
   * end of the process: it may therefore run a second time on what a first run left half done.
   */
  run(payload: Payload, signal: AbortSignal): Promise<void>
}

/** What a service uses of the jobs. */
export interface JobQueue {
  /**
   * Puts a message into a job's queue within the caller's transaction: it is there when that commits, and never
   * otherwise. Some process that runs background jobs takes it up, at the latest two seconds after.
   */
  enqueue<Payload extends object>(
    trx: QueryExecutorProvider,
    type: JobType<Payload>,
    payload: NoInfer<Payload>,
  ): Promise<void>
}

export interface Jobs extends JobQueue {
  /** Makes the schema, unless it is there, and the queues of these jobs. Before anybody enqueues; after migrations. */
  open(types: readonly JobType[]): Promise<void>
  /** Starts workers and schedules in this process. After `open`. */
  work(jobs: readonly Job[]): Promise<void>
  close(): Promise<void>
}

/** Joins a job's type with what does it. */
export const jobOf = <Payload extends object>(
  type: JobType<Payload>,
  run: Job<Payload>['run'],
): Job<Payload> => ({ ...type, run })

/**
 * A worker says that it is alive at half of this time. One that did not for the whole of it has lost its job,
 * which another takes up after LOOK_SECONDS and the wait before a second try.
 */
const HEARTBEAT_SECONDS = 20
const QUIET_MS = 30_000
const LOOK_SECONDS = 10

const queueOptions = ({ timeoutSeconds = 900 }: JobType) => ({
  retryLimit: 3,
  retryBackoff: true,
  heartbeatSeconds: HEARTBEAT_SECONDS,
  expireInSeconds: timeoutSeconds,
})

/** Jobs on pg-boss, in the schema `jobs` of the platform's database. */
export function createJobs(options: { url: string; log: Logger; runsJobs: boolean }): Jobs {
  const { log, runsJobs } = options
  const boss = new PgBoss({
    connectionString: options.url,
    schema: JOBS_SCHEMA,
    // Who migrates makes it: the server's role may make none.
    createSchema: false,
    application_name: 'atrium-jobs',
    max: 3,
    supervise: runsJobs,
    schedule: runsJobs,
    superviseIntervalSeconds: LOOK_SECONDS,
    monitorIntervalSeconds: LOOK_SECONDS,
  })
  // While the database is away every worker fails every two seconds.
  let quietUntil = 0
  boss.on('error', (error: unknown) => {
    if (Date.now() < quietUntil) return
    quietUntil = Date.now() + QUIET_MS
    log.warn({ err: error }, 'looking after background jobs failed; trying again')
  })
  let started: Promise<unknown> | undefined

  async function open(types: readonly JobType[]): Promise<void> {
    started = boss.start()
    await started
    const present = new Map((await boss.getQueues()).map((queue) => [queue.name, queue]))
    for (const type of types) await openQueue(boss, type, present.get(type.name))
  }

  /** pg-boss notes a failure in the job only. */
  async function runLogged(job: Job, payload: object, signal: AbortSignal): Promise<void> {
    try {
      await job.run(payload, signal)
    } catch (error) {
      log.warn(
        { err: error, job: job.name },
        'a background job failed; it is tried again three times at most',
      )
      throw error
    }
  }

  return {
    open,
    async work(jobs) {
      for (const job of jobs) {
        await boss.work<object>(job.name, async (messages) => {
          for (const message of messages) await runLogged(job, message.data ?? {}, message.signal)
        })
        if (job.cron !== undefined) await boss.schedule(job.name, job.cron)
      }
    },
    async enqueue(trx, type, payload) {
      await boss.send(type.name, payload, {
        db: {
          executeSql: async (text, values = []) => {
            const { rows } = await trx.getExecutor().executeQuery(CompiledQuery.raw(text, values))
            return { rows }
          },
        },
      })
    },
    async close() {
      if (started === undefined) return
      await started.catch(() => {})
      await boss.stop({ graceful: true, timeout: 5000 })
    },
  }
}

/** A queue keeps the options that it was made with, so those of an older release are brought up to date. */
async function openQueue(boss: PgBoss, type: JobType, present: QueueResult | undefined): Promise<void> {
  const wanted = queueOptions(type)
  if (present === undefined) await boss.createQueue(type.name, wanted)
  else if (Object.entries(wanted).some(([key, value]) => present[key as keyof QueueResult] !== value))
    await boss.updateQueue(type.name, wanted)
}
