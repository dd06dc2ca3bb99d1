import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createDatabase } from '@atrium/kernel/db'
import { createJobs } from '@atrium/kernel/jobs'
import { createLogger } from '@atrium/kernel/log'
import { startTestPlatform, type TestPlatform, type TestSpace } from '@atrium/testing'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { type Pipelines, pipelinesIn } from './pipelines.ts'

const JOB = { name: 'workflows.remove-old-results' }
let platform: TestPlatform
let space: TestSpace
let pipelines: Pipelines
let workflow = ''
beforeAll(async () => {
  const env = {
    ATRIUM_BACKGROUND_JOBS: 'true',
    ATRIUM_ENGINE: 'local',
    ATRIUM_WORKFLOWS_RETENTION_DAYS: '1',
    ATRIUM_WORKFLOWS_DISK_MB_PER_SPACE: '100',
  }
  platform = await startTestPlatform({ env })
  space = await platform.space()
  pipelines = pipelinesIn(platform, space)
  workflow = await pipelines.workflow()
}, 60_000)
afterAll(() => platform.close())

const workspaceOf = (runId: string): string =>
  path.join(platform.dataDir, 'workflows', 'spaces', space.spaceId, 'runs', runId)
const retry = (runId: string) => pipelines.call('POST', `/${workflow}/runs/${runId}:retry`)

/** A run that failed: its script is not there. */
async function failed(): Promise<string> {
  const runId = await pipelines.running(workflow)
  await pipelines.inStatus(workflow, runId, 'Failed')
  return runId
}

/** Has the platform's own job run now. */
async function enqueue(): Promise<void> {
  const jobs = createJobs({
    url: platform.ownerUrl,
    log: createLogger({ level: 'silent' }),
    runsJobs: false,
  })
  await jobs.open([JOB])
  // biome-ignore lint/suspicious/noExplicitAny: node-postgres' own pool, of which the kernel's is a kind
  await jobs.enqueue(createDatabase<object>(platform.pool as any), JOB, {})
  await jobs.close()
}

it('takes the workspace of a failed run with it, after which a new run is needed', async () => {
  const [old, young] = [await failed(), await failed()]
  expect([existsSync(workspaceOf(old)), existsSync(workspaceOf(young))]).toEqual([true, true])
  await platform.pool.query(
    `UPDATE workflows.runs SET completed_at = now() - interval '25 hours' WHERE run_id = $1`,
    [old],
  )
  await enqueue()
  await vi.waitUntil(() => !existsSync(workspaceOf(old)), { timeout: 60_000, interval: 100 })
  const answer = await retry(old)
  expect([answer.status, answer.body.detail]).toEqual([409, expect.stringContaining('start a new run')])
  expect(existsSync(workspaceOf(young))).toBe(true)
  expect((await retry(young)).status).toBe(200)
  expect((await pipelines.run(workflow)).status).toBe(201)
  const { rows } = await platform.pool.query('SELECT FROM workflows.local_runs WHERE run_id = $1', [old])
  expect(rows).toEqual([])
}, 120_000)

it('takes the oldest folders of failed runs from a space over its budget, after which a new run is needed', async () => {
  const [old, young] = [await failed(), await failed()]
  for (const runId of [old, young])
    await writeFile(path.join(workspaceOf(runId), 'large'), Buffer.alloc(60 * 2 ** 20))
  await failed()
  await vi.waitUntil(() => !existsSync(workspaceOf(old)), { timeout: 60_000, interval: 100 })
  const answer = await retry(old)
  expect([answer.status, answer.body.detail]).toEqual([
    409,
    expect.stringContaining('took too much of the disk'),
  ])
  expect(existsSync(workspaceOf(young))).toBe(true)
  expect((await retry(young)).status).toBe(200)
}, 120_000)
