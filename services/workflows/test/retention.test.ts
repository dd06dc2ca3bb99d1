import type { TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { removeOldResults } from '../src/domain/results/retention.ts'
import { expireRuns } from '../src/queries/run-results.ts'
import type { Pipelines } from './pipelines.ts'
import { ScriptedEngine } from './scripted-engine.ts'
import { startScripted, submitted } from './scripted-platform.ts'
import { storesOf, type TestStores } from './support/output.ts'

const engine = new ScriptedEngine()
let platform: TestPlatform
let stores: TestStores
let pipelines: Pipelines
let workflow = ''
let spaceId = ''
beforeAll(async () => {
  const scripted = await startScripted(engine)
  ;({ platform, pipelines } = scripted)
  ;({ spaceId } = scripted.home)
  workflow = await pipelines.workflow()
  stores = storesOf(platform)
})
afterAll(async () => {
  await stores.close()
  await platform.close()
})
beforeEach(() => Object.assign(engine, { fault: undefined }))

const remove = () => removeOldResults({ ...stores, engine, days: 30 }, new AbortController().signal)
const retry = (runId: string) => pipelines.call('POST', `/${workflow}/runs/${runId}:retry`)
const isRemoved = (runId: string): boolean => engine.removed.some((ref) => ref.runId === runId)

/** A run that failed 31 days ago. */
async function old(): Promise<string> {
  const runId = await submitted(engine, pipelines, workflow)
  engine.fail(runId, 'only', 'oops')
  await pipelines.inStatus(workflow, runId, 'Failed')
  await platform.pool.query(
    `UPDATE workflows.runs SET completed_at = now() - interval '31 days' WHERE run_id = $1`,
    [runId],
  )
  return runId
}

describe('a run whose retention is over', () => {
  it('is shown, cannot be retried, and says why', async () => {
    const runId = await old()
    await remove()
    expect(isRemoved(runId)).toBe(true)
    const answer = await retry(runId)
    expect([answer.status, answer.body.detail]).toEqual([
      409,
      `The workspace of run ${runId} is gone, for its age or because the space’s runs took too much of the disk: it cannot be retried; start a new run`,
    ])
    const shown = await pipelines.call('GET', `/${workflow}/runs/${runId}`)
    expect([shown.status, shown.body.status]).toEqual([200, 'Failed'])
    expect((await pipelines.call('DELETE', `/${workflow}/runs/${runId}`)).status).toBe(204)
  })

  it('is retried or cleared, never both, when both happen at once', async () => {
    const runs = await Promise.all(Array.from({ length: 20 }, old))
    const [, ...answers] = await Promise.all([remove(), ...runs.map(retry)])
    await remove()
    for (const [at, runId] of runs.entries())
      expect([answers[at]?.status, isRemoved(runId)]).toEqual(isRemoved(runId) ? [409, true] : [200, false])
  })

  it('is cleared the next time where the engine could not be reached, and holds up no other', async () => {
    const stuck = await old()
    const other = await old()
    const faulty = {
      name: engine.name,
      remove: async (ref: { spaceId: string; runId: string }) => {
        if (ref.runId === stuck) throw new Error('no way to it')
        await engine.remove(ref)
      },
    }
    const signal = new AbortController().signal
    await expect(removeOldResults({ ...stores, engine: faulty, days: 30 }, signal)).rejects.toThrow(
      '1 old runs could not be cleared',
    )
    expect([isRemoved(stuck), isRemoved(other)]).toEqual([false, true])
    expect((await retry(stuck)).status).toBe(409)
    await remove()
    expect(isRemoved(stuck)).toBe(true)
  })

  it('is asked of its own engine alone', async () => {
    const runId = await old()
    await platform.pool.query(`UPDATE workflows.runs SET engine = 'another' WHERE run_id = $1`, [runId])
    await remove()
    expect([isRemoved(runId), (await retry(runId)).status]).toEqual([false, 409])
  })

  it('is found without a look at those that were cleared before', async () => {
    await platform.pool.query(
      `INSERT INTO workflows.runs (space_id, workflow_id, run_id, stage, version_id, resolved_configuration, plan,
         engine, status, created_by, completed_at, expired_at, results_removed_at)
       SELECT $1, $2, gen_random_uuid(), 'test', 'v1', '{}', '[]', 'scripted', 'Succeeded', 'q',
              now() - interval '40 days', now(), now() FROM generate_series(1, 20000)`,
      [spaceId, workflow],
    )
    await platform.pool.query('VACUUM ANALYZE workflows.runs')
    const expiring = await old()
    const statement = expireRuns(30, 50, []).compile(stores.db)
    const { rows } = await platform.pool.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${statement.sql}`, [
      ...statement.parameters,
    ])
    const { Plan: plan } = rows[0]['QUERY PLAN'][0]
    expect(plan['Actual Rows']).toBe(1)
    expect(plan['Shared Hit Blocks'] + plan['Shared Read Blocks']).toBeLessThan(120)
    await remove()
    expect(isRemoved(expiring)).toBe(true)
  })
})
