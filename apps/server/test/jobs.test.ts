import { createDatabase, createPool, type Kysely, sql } from '@atrium/kernel/db'
import { createJobs, type Jobs, type JobType, jobOf } from '@atrium/kernel/jobs'
import { Closers } from '@atrium/kernel/lifecycle'
import { createLogger } from '@atrium/kernel/log'
import { cloneTemplate } from '@atrium/testing'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { bringUpToDate } from '../src/migrations.ts'

const NOTE: JobType<{ text: string }> = { name: 'test.note' }
const log = createLogger({ level: 'silent' })

let closers: Closers
let url: string
let database: Awaited<ReturnType<typeof cloneTemplate>>
let db: Kysely<unknown>
let notes: string[]

beforeEach(async () => {
  closers = new Closers()
  notes = []
  database = await cloneTemplate(inject('databaseAdminUrl'))
  closers.add('database', () => database.drop())
  url = database.url
  const pool = createPool(url, { max: 4, applicationName: 'test', log })
  closers.add('pool', () => pool.end())
  db = createDatabase(pool)
})
afterEach(() => closers.close())

function jobsOf(runsJobs: boolean): Jobs {
  const jobs = createJobs({ url, log, runsJobs })
  closers.add('jobs', () => jobs.close())
  return jobs
}

async function startWorker(run: (text: string) => void = (text) => notes.push(text)): Promise<Jobs> {
  const jobs = jobsOf(true)
  const note = jobOf(NOTE, async ({ text }) => run(text))
  await jobs.open([note])
  await jobs.work([note])
  return jobs
}

describe('jobs', () => {
  it('run what was enqueued in a transaction that committed, and nothing of one that did not', async () => {
    const jobs = await startWorker()
    const undone = db.transaction().execute(async (trx) => {
      await jobs.enqueue(trx, NOTE, { text: 'never' })
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    await db.transaction().execute((trx) => jobs.enqueue(trx, NOTE, { text: 'committed' }))
    await expect.poll(() => notes, { timeout: 20_000 }).toEqual(['committed'])
  })

  it('are enqueued by a process that runs none itself', async () => {
    const producer = jobsOf(false)
    await producer.open([NOTE])
    await db.transaction().execute((trx) => producer.enqueue(trx, NOTE, { text: 'from elsewhere' }))
    expect(notes).toEqual([])
    await startWorker()
    await expect.poll(() => notes, { timeout: 20_000 }).toEqual(['from elsewhere'])
  })

  it('are tried again when they failed', async () => {
    const jobs = await startWorker((text) => {
      notes.push(text)
      if (notes.length === 1) throw new Error('the first time fails')
    })
    await jobs.enqueue(db, NOTE, { text: 'twice' })
    await expect.poll(() => notes, { timeout: 25_000 }).toEqual(['twice', 'twice'])
  })

  it('make their schema once when several processes start on a new database at once', async () => {
    const owner = createPool(database.ownerUrl, { max: 1, applicationName: 'test', log })
    await owner.query('DROP SCHEMA jobs CASCADE')
    await owner.end()
    await bringUpToDate(database, log)
    const processes = Array.from({ length: 4 }, () => jobsOf(false))
    await Promise.all(
      processes.map(async (jobs, number) => {
        await jobs.open([NOTE])
        await jobs.enqueue(db, NOTE, { text: String(number) })
      }),
    )
    const { rows } = await sql<{ jobs: number }>`SELECT count(*) AS jobs FROM jobs.job`.execute(db)
    expect(rows[0]?.jobs).toBe(4)
  })

  it('get the settings of this release when an older one made their queue', async () => {
    const older = jobsOf(false)
    await older.open([{ ...NOTE, timeoutSeconds: 60 }])
    const newer = jobsOf(false)
    await newer.open([{ ...NOTE, timeoutSeconds: 3600 }])
    await newer.enqueue(db, NOTE, { text: 'long' })
    const { rows } = await sql<{ expire_seconds: number }>`SELECT expire_seconds FROM jobs.job`.execute(db)
    expect(rows).toEqual([{ expire_seconds: 3600 }])
  })

  it('have names and payloads that the compiler checks', () => {
    const check = (jobs: Jobs) => [
      // @ts-expect-error: the payload is another one
      jobs.enqueue(db, NOTE, { txt: 'a slip' }),
      // @ts-expect-error: a name alone is no job
      jobs.enqueue(db, 'test.noet', { text: 'a slip' }),
    ]
    expect(check).toBeTypeOf('function')
  })
})
