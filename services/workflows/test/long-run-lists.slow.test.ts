import { startTestPlatform, type TestPlatform, type TestSpace } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Pipelines, pipelinesIn } from './pipelines.ts'
import { ScriptedEngine } from './scripted-engine.ts'

let platform: TestPlatform
let space: TestSpace
let pipelines: Pipelines
let workflow = ''
const RUNS = 100_000
beforeAll(async () => {
  platform = await startTestPlatform({ engine: new ScriptedEngine() })
  space = await platform.space()
  pipelines = pipelinesIn(platform, space)
  workflow = await pipelines.workflow()
  await platform.pool.query(
    `INSERT INTO workflows.runs (space_id, workflow_id, run_id, stage, version_id, resolved_configuration, plan,
       engine, status, created_by, created_at, completed_at)
     SELECT $1, $2, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
            (ARRAY['test', 'int', 'e2e', 'prod'])[1 + n % 4], 'v' || n % 10, '{}', '[]', 'scripted',
            CASE WHEN n % 1000 = 0 THEN 'Failed' ELSE 'Succeeded' END, 'q', now(), now()
       FROM generate_series(1, $3::integer) n`,
    [space.spaceId, workflow, RUNS],
  )
  await platform.pool.query('ANALYZE workflows.runs, workflows.run_counts, workflows.run_tasks')
}, 120_000)
afterAll(() => platform.close())

const list = async (query: string) => (await pipelines.call('GET', `/${workflow}/runs?${query}`)).body

/** Pages of the database that a list reads, in buffers of 8 KiB, of the statements that tell its ids and its length. */
async function buffersOf(where: string): Promise<number> {
  const at = `space_id = '${space.spaceId}' AND workflow_id = '${workflow}' AND ${where}`
  const statements = [
    `SELECT run_id FROM workflows.runs WHERE ${at} ORDER BY run_id DESC LIMIT 21`,
    `SELECT (SELECT coalesce(sum(runs), 0) FROM workflows.run_counts WHERE ${at})
          + (SELECT count(*) FROM workflows.runs WHERE ${at} AND status IN ('Pending', 'Running', 'Cancelling'))`,
  ]
  const read = await Promise.all(
    statements.map(async (statement) => {
      const { rows } = await platform.pool.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${statement}`)
      const { Plan: plan } = rows[0]['QUERY PLAN'][0]
      return plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
    }),
  )
  return read.reduce((sum, one) => sum + one, 0)
}

describe('a hundred thousand runs that ended', () => {
  it.each([
    ['', RUNS],
    ['status=Failed', RUNS / 1000],
    ['status=Running', 0],
    ['versionId=v3', RUNS / 10],
    ['stage=prod', RUNS / 4],
    ['stage=prod&versionId=v3&status=Succeeded', RUNS / 20],
    ['versionId=absent', 0],
  ])('are listed and counted with the filter %j', async (query, total) => {
    const { runs, totalSize, nextPageToken } = await list(query)
    expect([totalSize, runs.length]).toEqual([total, Math.min(20, total)])
    expect(nextPageToken === '').toBe(total <= 20)
  })

  it.each([
    ['true'],
    ["status = 'Failed'"],
    ["status = 'Running'"],
    ["version_id = 'v3'"],
    ["stage = 'prod'"],
    ["version_id = 'absent'"],
  ])('cost a list where %s as little as a hundred', async (where) => {
    expect(await buffersOf(where)).toBeLessThan(120)
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
