import { existsSync } from 'node:fs'
import { newId } from '@atrium/kernel/ids'
import { afterEach, expect, it } from 'vitest'
import type { TaskLimits } from '../../src/adapters/local/limits.ts'
import type { EngineRun, EngineTaskState } from '../../src/ports.ts'
import { until } from './engine-contract.ts'
import { LIMITS } from './limits.ts'
import { type LocalEngineTest, startLocalEngine } from './local-engine.ts'

let subject: LocalEngineTest
afterEach(() => subject.close())

const WRITE_40_MB = 'head -c 41943040 /dev/zero > big'

async function ended(run: EngineRun): Promise<EngineTaskState> {
  const { tasks } = await until(subject.engine, run, ({ isEnded }) => isEnded)
  return tasks[0] as EngineTaskState
}

/** A run that failed and is on record as such: it can be retried. */
async function kept(script: string): Promise<EngineRun> {
  const run = await subject.run(`${script}; exit 1`)
  expect((await ended(run)).status).toBe('Failed')
  await subject.pool.query(
    `UPDATE workflows.runs SET status = 'Failed', completed_at = now() WHERE run_id = $1`,
    [run.runId],
  )
  return run
}

it('ends a run with more files than it may have', async () => {
  subject = await startLocalEngine({ limits: { ...LIMITS, workspaceFiles: 2000 } })
  const run = await subject.run('n=0; while :; do n=$((n + 1)); : > f$n; done')
  expect(await ended(run)).toMatchObject({
    status: 'Failed',
    message: 'The run’s folder held more files than it may',
  })
})

it('begins no run of a space that is over its budget while nothing can go, and says so', async () => {
  subject = await startLocalEngine({ limits: { ...LIMITS, spaceMb: 30 } })
  const large = await subject.run(`${WRITE_40_MB}; echo written; sleep 600`)
  await expect
    .poll(() => subject.output.logOf({ ...large, task: 'task' }), { timeout: 20_000 })
    .toContain('written')
  const next = async () => ended(await subject.run(':'))
  await expect.poll(next, { timeout: 60_000, interval: 500 }).toMatchObject({
    status: 'Failed',
    message: expect.stringMatching(/^The runs of this space take \d+ MiB/),
  })
  await subject.engine.cancel(large)
  await expect.poll(next, { timeout: 60_000, interval: 500 }).toMatchObject({ status: 'Succeeded' })
})

it('takes folders of failed runs from the space that holds most when the disk is nearly full, and no run of another', async () => {
  let isFull = (): boolean => false
  const limits: TaskLimits = {
    ...LIMITS,
    get diskReserveMb() {
      return isFull() ? 2 ** 40 : 16
    },
  }
  subject = await startLocalEngine({ limits })
  const [old, young] = [await kept(WRITE_40_MB), await kept(WRITE_40_MB)]
  const spaceId = newId()
  await subject.pool.query(
    `INSERT INTO portal.spaces (space_id, space_name, app_id, created_by_id, created_by_name, modified_by_id, modified_by_name)
     VALUES ($1, 'other', 'b', 'x', 'x', 'x', 'x')`,
    [spaceId],
  )
  const other = await subject.run('head -c 10485760 /dev/zero > data; sleep 600', {}, spaceId)
  isFull = () => existsSync(subject.folderOfRun(old))
  await expect.poll(isFull, { timeout: 60_000 }).toBe(false)
  expect(existsSync(subject.folderOfRun(young))).toBe(true)
  expect((await subject.engine.observe(other))?.tasks[0]?.status).toBe('Running')
  const { rows } = await subject.pool.query<{ run_id: string }>(
    'SELECT run_id FROM workflows.runs WHERE expired_at IS NOT NULL',
  )
  expect(rows).toEqual([{ run_id: old.runId }])
  await subject.engine.cancel(other)
  await ended(other)
})
