import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createDatabase, createPool, sql } from '@atrium/kernel/db'
import { createJobs } from '@atrium/kernel/jobs'
import { Closers } from '@atrium/kernel/lifecycle'
import { createLogger } from '@atrium/kernel/log'
import { cloneTemplate } from '@atrium/testing'
import { expect, inject, it } from 'vitest'
import { NOTED } from './job-worker.ts'

async function startWorker(url: string, closers: Closers): Promise<ChildProcess> {
  const script = path.join(import.meta.dirname, 'job-worker.ts')
  const child = spawn(process.execPath, [script, url], { stdio: ['ignore', 'pipe', 'inherit'] })
  closers.add('worker', async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  })
  await once(child.stdout, 'data')
  return child
}

it('goes on in another process when the one that runs it is killed', async () => {
  await using closers = new Closers()
  const database = await cloneTemplate(inject('databaseAdminUrl'))
  closers.add('database', () => database.drop())
  const log = createLogger({ level: 'silent' })
  const pool = createPool(database.ownerUrl, { max: 2, applicationName: 'test', log })
  closers.add('pool', () => pool.end())
  const db = createDatabase(pool)
  await sql`CREATE TABLE noted (pid int, text text, at timestamptz DEFAULT now())`.execute(db)
  // What the workers run as may make no tables.
  await sql`GRANT SELECT, INSERT ON noted TO ${sql.id(new URL(database.url).username)}`.execute(db)
  const runs = async () =>
    (await sql<{ pid: number; text: string }>`SELECT pid, text FROM noted ORDER BY at`.execute(db)).rows

  const workers = await Promise.all([startWorker(database.url, closers), startWorker(database.url, closers)])
  const producer = createJobs({ url: database.url, log, runsJobs: false })
  closers.add('producer', () => producer.close())
  await producer.open([NOTED])
  await db.transaction().execute((trx) => producer.enqueue(trx, NOTED, { text: 'kept' }))

  await expect.poll(runs, { timeout: 30_000 }).toHaveLength(1)
  const killed = (await runs())[0]?.pid
  const other = workers.find(({ pid }) => pid !== killed)?.pid
  process.kill(killed ?? 0, 'SIGKILL')

  await expect.poll(runs, { timeout: 120_000, interval: 500 }).toEqual([
    { pid: killed, text: 'kept' },
    { pid: other, text: 'kept' },
  ])
  const state = async () =>
    (
      await sql<{
        state: string
        retry_count: number
      }>`SELECT state, retry_count FROM jobs.job WHERE name = ${NOTED.name}`.execute(db)
    ).rows
  await expect.poll(state, { timeout: 30_000 }).toEqual([{ state: 'completed', retry_count: 1 }])
}, 240_000)
