import { PgBoss } from 'pg-boss'
import type { Logger } from '../log.ts'

/** A background job: its name is its queue's. */
export interface Job<Payload extends object = object> {
  readonly name: string
  /** Cron expression (UTC) for work that repeats; one process of all runs each tick. */
  readonly cron?: string
  /** Runs once per message; throwing makes pg-boss try again (three times, with growing waits). */
  run(payload: Payload, signal: AbortSignal): Promise<void>
}

export interface Jobs {
  /** Creates the queues, starts their workers and schedules. Call once, after migrations. */
  start(jobs: readonly Job[]): Promise<void>
  /** Puts a message into a job's queue. */
  send(name: string, payload: object): Promise<void>
  close(): Promise<void>
}

/** Jobs on pg-boss, in the schema `jobs` of the platform's database. */
export function createJobs(options: { url: string; log: Logger }): Jobs {
  const boss = new PgBoss({
    connectionString: options.url,
    schema: 'jobs',
    application_name: 'atrium-jobs',
    max: 3,
  })
  boss.on('error', (error: unknown) => options.log.warn({ err: error }, 'a background job failed'))
  let started: Promise<unknown> | undefined

  return {
    async start(jobs) {
      started = boss.start()
      await started
      for (const job of jobs) {
        await boss.createQueue(job.name, { retryLimit: 3, retryBackoff: true })
        await boss.work(job.name, async (messages) => {
          for (const message of messages) await job.run((message.data ?? {}) as object, message.signal)
        })
        if (job.cron !== undefined) await boss.schedule(job.name, job.cron)
      }
    },
    async send(name, payload) {
      await boss.send(name, payload)
    },
    async close() {
      if (started === undefined) return
      await started.catch(() => {})
      await boss.stop({ graceful: true, timeout: 5000 })
    },
  }
}
