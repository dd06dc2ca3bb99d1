import { afterAll, beforeAll, expect, it } from 'vitest'
import { openResults, type ResultsWorld, refOf } from './support/output.ts'
import { type RecordedRun, recordRun } from './support/recorded-run.ts'

let platform: ResultsWorld['platform']
let space: ResultsWorld['space']
let other: ResultsWorld['other']
let output: ResultsWorld['output']
let stores: ResultsWorld['stores']

beforeAll(async () => {
  ;({ platform, space, other, stores, output } = await openResults())
})

afterAll(() => stores.close())

const read = (run: RecordedRun, query = '') =>
  platform.call('GET', `${run.path}/metrics${query}`, { token: space.memberToken })
const values = (body: { metrics: { value: number }[] }): number[] => body.metrics.map(({ value }) => value)

it('shows the numbers of tasks in their order, page by page', async () => {
  const run = await recordRun(platform, space.spaceId, ['a', 'b'])
  await output.appendMetrics(refOf(run, 'b'), [{ name: 'loss', step: null, value: 9 }])
  await output.appendMetrics(refOf(run), [
    { name: 'loss', step: 1, value: 0.5 },
    { name: 'accuracy', step: 1, value: 0.25 },
  ])
  await output.appendMetrics(refOf(run), [{ name: 'loss', step: 2 ** 53 - 1, value: -1e300 }])
  const whole = await read(run)
  expect(whole.body.nextPageToken).toBe('')
  expect(values(whole.body)).toEqual([0.5, 0.25, -1e300, 9])
  expect(whole.body.metrics[2]).toEqual({
    task: 'a',
    name: 'loss',
    step: 2 ** 53 - 1,
    value: -1e300,
    at: expect.stringMatching(/Z$/),
  })
  const first = await read(run, '?pageSize=3')
  expect(values(first.body)).toEqual([0.5, 0.25, -1e300])
  const second = await read(run, `?pageSize=3&pageToken=${first.body.nextPageToken}`)
  expect([values(second.body), second.body.nextPageToken]).toEqual([[9], ''])
  expect(values((await read(run, '?task=a&name=loss')).body)).toEqual([0.5, -1e300])
  expect((await read(run, `?task=a&pageToken=${first.body.nextPageToken}`)).status).toBe(400)
})

it('shows those of the attempt in which a task was last started', async () => {
  const run = await recordRun(platform, space.spaceId, ['a', 'b'])
  await output.appendMetrics(refOf(run), [{ name: 'm', step: 1, value: 1 }])
  await output.appendMetrics(refOf(run, 'b'), [{ name: 'm', step: 1, value: 2 }])
  await run.setTask('a', 'Running', 2)
  await output.begin(refOf(run, 'a', 2))
  expect(values((await read(run)).body)).toEqual([2])
  await output.appendMetrics(refOf(run, 'a', 2), [{ name: 'm', step: 1, value: 3 }])
  expect(values((await read(run)).body)).toEqual([3, 2])
})

it('keeps so many of a task and says how many it did not keep', async () => {
  const run = await recordRun(platform, space.spaceId, ['a', 'b'])
  const small = stores.output({ metricPoints: 3 })
  const points = [1, 2].map((value) => ({ name: 'm', step: null, value }))
  expect(await small.appendMetrics(refOf(run), points)).toBe(0)
  expect(await small.appendMetrics(refOf(run), points)).toBe(1)
  expect(await small.appendMetrics(refOf(run), points)).toBe(2)
  expect(await small.appendMetrics(refOf(run, 'b'), points)).toBe(0)
  expect(values((await read(run)).body)).toEqual([1, 2, 1, 1, 2])
})

it('is of somebody’s own space, and of a run and task that there are', async () => {
  const run = await recordRun(platform, space.spaceId, ['a'])
  const call = (path: string, token?: string) =>
    platform.call('GET', `${path}/metrics`, token === undefined ? {} : { token })
  expect((await call(run.path, other.memberToken)).status).toBe(403)
  expect((await call(run.path.replace(space.spaceId, other.spaceId), other.memberToken)).status).toBe(404)
  expect((await call(run.path.replace(run.runId, 'x'), space.memberToken)).status).toBe(404)
  expect((await call(run.path)).status).toBe(401)
  expect((await read(run, '?task=b')).status).toBe(404)
  for (const query of ['?pageSize=0', '?pageSize=10001', '?pageToken=x', '?name='])
    expect([query, (await read(run, query)).status]).toEqual([query, 400])
})
