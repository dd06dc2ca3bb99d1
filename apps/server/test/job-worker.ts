import { createDatabase, createPool, sql } from '@atrium/kernel/db'
import { createJobs, type JobType, jobOf } from '@atrium/kernel/jobs'
import { createLogger } from '@atrium/kernel/log'

/** A process of its own that works on one queue: it notes each run, and whoever has the first never ends it. */
export const NOTED: JobType<{ text: string }> = { name: 'test.noted' }

async function main(url: string): Promise<void> {
  const log = createLogger({ level: 'warn', fd: 2 })
  const db = createDatabase(createPool(url, { max: 2, applicationName: 'job-worker', log }))
  const job = jobOf(NOTED, async ({ text }, signal) => {
    await sql`INSERT INTO noted (pid, text) VALUES (${process.pid}, ${text})`.execute(db)
    const { rows } = await sql<{ runs: number }>`SELECT count(*) AS runs FROM noted`.execute(db)
    if (rows[0]?.runs === 1) await new Promise((_, reject) => signal.addEventListener('abort', reject))
  })
  const jobs = createJobs({ url, log, runsJobs: true })
  await jobs.open([job])
  await jobs.work([job])
  process.stdout.write('ready\n')
}

if (import.meta.main) await main(process.argv[2] ?? '')
