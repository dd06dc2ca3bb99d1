import { createDatabase } from '@atrium/kernel/db'
import { startTestPlatform, type TestPlatform, type TestSpace } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunSelection, runIdsQuery } from '../src/queries/runs.ts'
import type { WorkflowsTables } from '../src/queries/tables.ts'
import { type Pipelines, pipelinesIn } from './pipelines.ts'
import { ScriptedEngine } from './scripted-engine.ts'

let platform: TestPlatform
let space: TestSpace
let pipelines: Pipelines
let workflow = ''
let db: ReturnType<typeof createDatabase<WorkflowsTables>>
const RUNS = 100_000
beforeAll(async () => {
  platform = await startTestPlatform({ engine: new ScriptedEngine() })
  space = await platform.space()
  db = createDatabase<WorkflowsTables>(platform.pool)
  pipelines = pipelinesIn(platform, space)
  workflow = await pipelines.workflow()
  await platform.pool.query(
    `INSERT INTO workflows.runs (space_id, workflow_id, run_id, stage, version_id, resolved_configuration, plan,
       engine, status, created_by, created_at, completed_at)
     SELECT $1, $2, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
            (ARRAY['test', 'int', 'e2e', 'prod'])[1 + n % 4], 'v' || n % 10, '{}', '[]', 'scripted',
            CASE WHEN n % 1000 = 0 THEN 'Failed' WHEN n % 10 = 7 OR n < 50 AND n % 10 = 3 THEN 'Cancelled' ELSE 'Succeeded' END, 'q', now(), now()
       FROM generate_series(1, $3::integer) n`,
    [space.spaceId, workflow, RUNS],
  )
  await platform.pool.query('ANALYZE workflows.runs, workflows.run_counts, workflows.run_tasks')
}, 120_000)
afterAll(() => platform.close())

const list = async (query: string) => (await pipelines.call('GET', `/${workflow}/runs?${query}`)).body

/** Pages of the database that the ids of a list are read from, in buffers of 8 KiB. */
async function buffersOf(selection: RunSelection): Promise<number> {
  const query = { spaceId: space.spaceId, workflowId: workflow, selection, before: undefined, most: 21 }
  const { sql: text, parameters } = runIdsQuery(query).compile(db)
  const { rows } = await platform.pool.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, [
    ...parameters,
  ])
  const { Plan: plan } = rows[0]['QUERY PLAN'][0]
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
}

describe('a hundred thousand runs that ended', () => {
  it.each([
    ['', RUNS],
    ['status=Failed', RUNS / 1000],
    ['status=Running', 0],
    ['versionId=v3', RUNS / 10],
    ['stage=prod', RUNS / 4],
    ['stage=prod&versionId=v3&status=Succeeded', RUNS / 20 - 3],
    ['versionId=absent', 0],
    ['versionId=v3&status=Cancelled', 5],
  ])('are listed and counted with the filter %j', async (query, total) => {
    const { runs, totalSize, nextPageToken } = await list(query)
    expect([totalSize, runs.length]).toEqual([total, Math.min(20, total)])
    expect(nextPageToken === '').toBe(total <= 20)
  })

  it.each<RunSelection>([
    {},
    { status: 'Failed' },
    { status: 'Running' },
    { versionId: 'v3' },
    { stage: 'prod' },
    { versionId: 'absent' },
    // Ten thousand runs fit one of these filters, and the five oldest fit both.
    { versionId: 'v3', status: 'Cancelled' },
    { versionId: 'v3', status: 'Cancelled', stage: 'prod' },
  ])('cost a list with the filter %j as little as a hundred', async (selection) => {
    expect(await buffersOf(selection)).toBeLessThan(250)
  })

  it('are paged, the newest first, stable while others come', async () => {
    const first = await list('status=Failed&pageSize=60')
    const ids = first.runs.map(({ runId }: { runId: string }) => runId)
    expect(ids).toEqual(ids.toSorted().reverse())
    await pipelines.running(workflow)
    const second = await list(`status=Failed&pageSize=60&pageToken=${first.nextPageToken}`)
    expect([second.runs.length, second.nextPageToken, second.totalSize]).toEqual([40, '', 100])
    const all = new Set([...first.runs, ...second.runs].map(({ runId }) => runId))
    expect(all.size).toBe(100)
  })

  it('are paged by tokens of the same list alone', async () => {
    const { nextPageToken } = await list('status=Failed')
    const altered = `${nextPageToken.slice(0, -1)}${nextPageToken.endsWith('A') ? 'B' : 'A'}`
    for (const query of [
      `pageToken=${nextPageToken}`,
      `status=Succeeded&pageToken=${nextPageToken}`,
      `status=Failed&pageToken=${altered}`,
      'pageToken=x',
      'pageSize=0',
      'pageSize=101',
      'pageSize=x',
      'status=Unknown',
      'stage=staging',
    ])
      expect((await pipelines.call('GET', `/${workflow}/runs?${query}`)).status, query).toBe(400)
  })

  it('keep right counts through retries and deletions', async () => {
    const { runs } = await list('status=Failed&versionId=v0&stage=test')
    const [one, two] = runs
    const before = (await list('status=Failed')).totalSize
    expect((await pipelines.call('POST', `/${workflow}/runs/${one.runId}:retry`)).status).toBe(200)
    expect((await pipelines.call('DELETE', `/${workflow}/runs/${two.runId}`)).status).toBe(204)
    expect((await list('status=Failed')).totalSize).toBe(before - 2)
    const { rows } = await platform.pool.query(
      'SELECT count(*)::integer AS n FROM workflows.runs WHERE workflow_id = $1',
      [workflow],
    )
    expect((await list('')).totalSize).toBe(rows[0].n)
  })
})
