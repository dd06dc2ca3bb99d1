import { startTestPlatform, type TestPlatform, type TestSpace } from '@atrium/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Pipelines, pipelinesIn, task } from './pipelines.ts'
import { ScriptedEngine } from './scripted-engine.ts'

const engine = new ScriptedEngine()
/** Serves, and fires nothing. */
let platform: TestPlatform
let space: TestSpace
let pipelines: Pipelines

beforeAll(async () => {
  platform = await startTestPlatform({ engine })
  space = await platform.space()
  pipelines = pipelinesIn(platform, space)
})
afterAll(() => platform.close())
beforeEach(() => Object.assign(engine, { fault: undefined, obeys: true, tells: true }))

const WAIT = { timeout: 20_000, interval: 50 }

/** A process that fires schedules and looks after runs. */
const worker = () =>
  startTestPlatform({ engine, env: { DATABASE_URL: platform.databaseUrl, ATRIUM_BACKGROUND_JOBS: 'true' } })

/** A schedule whose tick was due so many milliseconds ago. @returns its workflow */
async function due(schedule: string, agoMs: number): Promise<string> {
  const workflow = await pipelines.workflow([task('only')], { KEY: 'v' })
  const config = { schedule }
  await pipelines.put(`/${workflow}/triggers/tick`, {
    type: 'schedule',
    stage: 'test',
    enabled: true,
    config,
  })
  await platform.pool.query('UPDATE workflows.triggers SET next_at = $1 WHERE workflow_id = $2', [
    new Date(Date.now() - agoMs),
    workflow,
  ])
  return workflow
}

const nextOf = async (workflow: string): Promise<Date> => {
  const { rows } = await platform.pool.query(
    'SELECT next_at FROM workflows.triggers WHERE workflow_id = $1',
    [workflow],
  )
  return rows[0].next_at
}
const runsOf = async (workflow: string) => (await pipelines.call('GET', `/${workflow}/runs`)).body.runs
const taken = (workflow: string) => vi.waitUntil(async () => (await nextOf(workflow)) > new Date(), WAIT)

/** Read in the database: asking the service would be a look at the engine itself. */
async function recordedStatus(runId: string): Promise<string> {
  const { rows } = await platform.pool.query('SELECT status FROM workflows.runs WHERE run_id = $1', [runId])
  return rows[0].status
}

describe('several processes', () => {
  it('fire exactly one run a tick', async () => {
    // None of these has another tick while the test runs, but on the first of January.
    const workflows = await Promise.all(Array.from({ length: 20 }, () => due('0 0 1 1 *', 1000)))
    const workers = await Promise.all([worker(), worker(), worker()])
    try {
      for (const workflow of workflows) {
        await taken(workflow)
        const runs = await runsOf(workflow)
        expect(runs).toHaveLength(1)
        expect(runs[0]).toMatchObject({
          triggerId: 'tick',
          createdBy: 'trigger:tick',
          configurationId: 'stage-values',
        })
      }
    } finally {
      await Promise.all(workers.map((one) => one.close()))
    }
  })

  it('make up for ticks of the last five minutes by one run, and for older ones by none', async () => {
    const everyMinute = await due('* * * * *', 4 * 60_000)
    const old = await due('0 0 1 1 *', 6 * 60_000)
    const lately = await due('0 0 1 1 *', 4 * 60_000)
    await using _worker = await worker()
    for (const workflow of [everyMinute, old, lately]) await taken(workflow)
    // The full minute may have come meanwhile.
    expect([1, 2]).toContain((await runsOf(everyMinute)).length)
    expect(await runsOf(old)).toEqual([])
    expect(await runsOf(lately)).toHaveLength(1)
  })

  it('take turns by space, so that a storm of one holds up no tick of another', async () => {
    const stormy = await due('0 0 1 1 *', 60_000)
    await platform.pool.query(
      `INSERT INTO workflows.triggers (space_id, workflow_id, trigger_id, type, stage, enabled, schedule, next_at)
       SELECT space_id, workflow_id, 'tick-' || n, type, stage, enabled, schedule, next_at
         FROM workflows.triggers, generate_series(1, 150) AS n WHERE workflow_id = $1`,
      [stormy],
    )
    const neighbour = pipelinesIn(platform, await platform.space())
    const workflow = await neighbour.workflow([task('only')], { KEY: 'v' })
    const config = { schedule: '0 0 1 1 *' }
    await neighbour.put(`/${workflow}/triggers/tick`, {
      type: 'schedule',
      stage: 'test',
      enabled: true,
      config,
    })
    await platform.pool.query('UPDATE workflows.triggers SET next_at = now() WHERE workflow_id = $1', [
      workflow,
    ])
    await using _worker = await worker()
    const countRuns = async (): Promise<{ storm: number; before: number }> => {
      const { rows } = await platform.pool.query(
        `SELECT count(*)::int AS storm, count(*) FILTER (WHERE run_id < (
                  SELECT run_id FROM workflows.runs WHERE workflow_id = $2))::int AS before
           FROM workflows.runs WHERE workflow_id = $1`,
        [stormy, workflow],
      )
      return rows[0]
    }
    await vi.waitUntil(async () => (await countRuns()).storm === 151, { ...WAIT, timeout: 60_000 })
    expect((await neighbour.call('GET', `/${workflow}/runs`)).body.runs).toHaveLength(1)
    expect((await countRuns()).before).toBeLessThan(20)
  })

  it('go on behind a schedule whose run is refused', async () => {
    const refused = await due('0 0 1 1 *', 2000)
    await platform.pool.query('DELETE FROM workflows.stage_assignments WHERE workflow_id = $1', [refused])
    const good = await due('0 0 1 1 *', 1000)
    await using _worker = await worker()
    for (const workflow of [refused, good]) await taken(workflow)
    expect([await runsOf(refused), await runsOf(good)]).toEqual([[], [expect.anything()]])
  })

  it('tell owners of a space that a schedule is refused, once for each reason', async () => {
    const workflow = await due('0 0 1 1 *', 1000)
    const stage = 'DELETE FROM workflows.stage_assignments WHERE workflow_id = $1'
    await platform.pool.query(stage, [workflow])
    const refusals = async () => {
      const path = `/portal/v1/spaces/${space.spaceId}/audit?operation=runSchedule&limit=1000`
      const { body } = await platform.call('GET', path, { token: space.ownerToken })
      const entries = body.data as { resourceType: string; after: Record<string, unknown> }[]
      return entries.filter(
        ({ resourceType, after }) => resourceType !== 'run' && after.workflowId === workflow,
      )
    }
    const tick = async (agoMs: number): Promise<void> => {
      await platform.pool.query(
        `UPDATE workflows.triggers SET next_at = now() - make_interval(secs => $1) WHERE workflow_id = $2`,
        [agoMs / 1000, workflow],
      )
      await taken(workflow)
    }
    await using _worker = await worker()
    await taken(workflow)
    const once = [
      expect.objectContaining({
        actor: { kind: 'system', id: 'system', name: 'system' },
        resourceType: 'workflow_trigger',
        resourceId: 'tick',
        before: null,
        after: { workflowId: workflow, stage: 'test', refused: expect.stringMatching(/test.*version/) },
      }),
    ]
    expect(await refusals()).toEqual(once)
    await tick(1000)
    expect(await refusals()).toEqual(once)
    // It goes well again, and is refused again: that is news.
    await pipelines.assign(workflow, 'test', 'v1', 'stage-values')
    await tick(1000)
    expect(await runsOf(workflow)).toHaveLength(1)
    await platform.pool.query(stage, [workflow])
    await tick(1000)
    expect(await refusals()).toEqual([...once, ...once])
    // So is that a tick came too late.
    await tick(6 * 60_000)
    expect((await refusals()).map(({ after }) => after.refused)).toContainEqual(
      expect.stringMatching(/5 minutes/),
    )
  })

  it('fire nothing that is disabled or deleted, or of a space that is closed', async () => {
    const disabled = await due('* * * * *', 1000)
    const config = { schedule: '* * * * *' }
    await pipelines.put(`/${disabled}/triggers/tick`, {
      type: 'schedule',
      stage: 'test',
      enabled: false,
      config,
    })
    const other = await platform.space()
    const own = pipelinesIn(platform, other)
    const closed = await own.workflow([task('only')], { KEY: 'v' })
    await own.put(`/${closed}/triggers/tick`, {
      type: 'schedule',
      stage: 'test',
      enabled: true,
      config: { schedule: '0 0 1 1 *' },
    })
    await platform.pool.query('UPDATE workflows.triggers SET next_at = now() WHERE workflow_id = $1', [
      closed,
    ])
    const token = platform.superuser.token
    await platform.call('DELETE', `/portal/v1/spaces/${other.spaceId}`, { token })
    await using _worker = await worker()
    await taken(closed)
    expect(await runsOf(disabled)).toEqual([])
    const { rows } = await platform.pool.query('SELECT FROM workflows.runs WHERE workflow_id = $1', [closed])
    expect(rows).toEqual([])
  })
})

describe('what a process left undone', () => {
  it('is handed over by another', async () => {
    engine.fault = new Error('away')
    const workflow = await pipelines.workflow()
    const runId = await pipelines.running(workflow)
    const cancelled = await pipelines.running(workflow)
    await pipelines.call('POST', `/${workflow}/runs/${cancelled}:cancel`)
    engine.fault = undefined
    await using _worker = await worker()
    await vi.waitUntil(() => engine.submitted.some((run) => run.runId === runId), WAIT)
    await pipelines.inStatus(workflow, cancelled, 'Cancelled')
    expect(engine.submitted.filter((run) => run.runId === runId)).toHaveLength(1)
  })

  it('is observed although another run cannot be handed over', async () => {
    const workflow = await pipelines.workflow()
    engine.fault = new Error('away')
    engine.refuses = await pipelines.running(workflow)
    await platform.pool.query(
      `UPDATE workflows.runs SET updated_at = now() - interval '1 minute' WHERE run_id = $1`,
      [engine.refuses],
    )
    engine.fault = undefined
    const runId = await pipelines.running(workflow)
    await vi.waitUntil(() => engine.submitted.some((run) => run.runId === runId), WAIT)
    engine.tells = false
    engine.succeed(runId)
    await using _worker = await worker()
    await expect.poll(() => recordedStatus(runId), WAIT).toBe('Succeeded')
    await pipelines.call('POST', `/${workflow}/runs/${engine.refuses}:cancel`)
    engine.refuses = ''
  })

  it('is observed by another', async () => {
    const workflow = await pipelines.workflow()
    const runId = await pipelines.running(workflow)
    await vi.waitUntil(() => engine.submitted.some((run) => run.runId === runId))
    engine.tells = false
    engine.succeed(runId)
    await using _worker = await worker()
    await vi.waitUntil(async () => (await recordedStatus(runId)) === 'Succeeded', WAIT)
  })

  it('is looked after by one process at a time', async () => {
    const workers = await Promise.all([worker(), worker()])
    const holders = async () => {
      const { rows } = await platform.pool.query('SELECT holder FROM workflows.leases WHERE until > now()')
      return rows.map(({ holder }) => holder)
    }
    await vi.waitUntil(async () => (await holders()).length === 1, WAIT)
    await Promise.all(workers.map((one) => one.close()))
    expect(await holders()).toEqual([])
  })
})
