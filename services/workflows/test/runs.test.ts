import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { pipelinesIn, task, UNKNOWN_ID } from './pipelines.ts'
import { ScriptedEngine } from './scripted-engine.ts'
import { type ScriptedPlatform, startScripted, submitted, TIME } from './scripted-platform.ts'

const engine = new ScriptedEngine()
let platform: ScriptedPlatform['platform']
let home: ScriptedPlatform['home']
let other: ScriptedPlatform['other']
let pipelines: ScriptedPlatform['pipelines']
beforeAll(async () => {
  ;({ platform, home, other, pipelines } = await startScripted(engine))
})
afterAll(() => platform.close())
beforeEach(() => Object.assign(engine, { fault: undefined, obeys: true, tells: true }))

describe('a run on its way', () => {
  it('shows what the engine sees, up to the end', async () => {
    const workflow = await pipelines.workflow([task('a'), task('b', ['a'])])
    const runId = await submitted(engine, pipelines, workflow)
    engine.start(runId, 'a')
    const running = await pipelines.inStatus(workflow, runId, 'Running')
    expect(running).toMatchObject({
      startedAt: expect.stringMatching(TIME),
      completedAt: null,
      tasks: [
        { name: 'a', status: 'Running', startedAt: running.startedAt },
        { name: 'b', status: 'Pending', startedAt: null },
      ],
    })
    engine.succeed(runId, 'a')
    await pipelines.until(workflow, runId, ({ message }) => message === '1 of 2 tasks succeeded')
    engine.succeed(runId, 'b')
    const ended = await pipelines.inStatus(workflow, runId, 'Succeeded')
    expect(ended).toMatchObject({
      message: '2 of 2 tasks succeeded',
      completedAt: expect.stringMatching(TIME),
    })
    expect(ended.tasks.map((one: { status: string }) => one.status)).toEqual(['Succeeded', 'Succeeded'])
  })

  it('fails with the first failed task, and skips what is behind it', async () => {
    const workflow = await pipelines.workflow([task('a'), task('b', ['a']), task('c')])
    const runId = await submitted(engine, pipelines, workflow)
    engine.fail(runId, 'a', 'exit code 3')
    expect((await pipelines.until(workflow, runId, ({ message }) => message.includes('failed'))).status).toBe(
      'Running',
    )
    engine.succeed(runId, 'c')
    const failed = await pipelines.inStatus(workflow, runId, 'Failed')
    expect(failed.message).toBe('Task a failed: exit code 3')
    expect(failed.tasks.map((one: { status: string }) => one.status)).toEqual([
      'Failed',
      'Skipped',
      'Succeeded',
    ])
  })

  it('answers what is on record while the engine does not answer', async () => {
    const workflow = await pipelines.workflow()
    const runId = await submitted(engine, pipelines, workflow)
    engine.tells = false
    engine.succeed(runId)
    engine.fault = new Error('away')
    expect((await pipelines.call('GET', `/${workflow}/runs/${runId}`)).body.status).toBe('Pending')
    engine.fault = undefined
    expect((await pipelines.call('GET', `/${workflow}/runs/${runId}`)).body.status).toBe('Succeeded')
  })

  it('fails when the engine has lost it, and runs nothing twice', async () => {
    const workflow = await pipelines.workflow([task('a'), task('b')])
    const runId = await submitted(engine, pipelines, workflow)
    engine.succeed(runId, 'a')
    await pipelines.until(workflow, runId, ({ message }) => message.startsWith('1 of 2'))
    engine.lose(runId)
    const failed = await pipelines.inStatus(workflow, runId, 'Failed')
    expect(failed.message).toContain('does not know this run any more')
    expect(failed.tasks.map((one: { status: string }) => one.status)).toEqual(['Succeeded', 'Failed'])
  })

  it('takes messages of any kind', async () => {
    const workflow = await pipelines.workflow()
    const runId = await submitted(engine, pipelines, workflow)
    engine.fail(runId, 'only', `\0\ud800${'x'.repeat(100_000)}`)
    const { message, tasks } = await pipelines.inStatus(workflow, runId, 'Failed')
    expect(message.length).toBeLessThanOrEqual(4000)
    expect(tasks[0].message).toMatch(/^\ufffd\ufffdx+$/)
  })
})

describe('cancelling', () => {
  const cancel = (workflow: string, runId: string, token?: string) =>
    pipelines.call('POST', `/${workflow}/runs/${runId}:cancel`, token === undefined ? {} : { token })

  it('asks the engine, and may be repeated', async () => {
    const workflow = await pipelines.workflow([task('a'), task('b', ['a'])])
    const runId = await submitted(engine, pipelines, workflow)
    engine.obeys = false
    engine.succeed(runId, 'a')
    engine.start(runId, 'b')
    await pipelines.inStatus(workflow, runId, 'Running')
    for (let times = 0; times < 2; times++) {
      const asked = await cancel(workflow, runId)
      expect([asked.status, asked.body.status, asked.body.completedAt]).toEqual([200, 'Cancelling', null])
    }
    await vi.waitUntil(() => engine.cancelled.some((ref) => ref.runId === runId))
    engine.endCancelled(runId)
    const ended = await pipelines.inStatus(workflow, runId, 'Cancelled')
    expect(ended.tasks.map((one: { status: string }) => one.status)).toEqual(['Succeeded', 'Cancelled'])
    const again = await cancel(workflow, runId)
    expect([again.status, again.body]).toEqual([200, ended])
  })

  it('leaves a run that ended as it is', async () => {
    const workflow = await pipelines.workflow()
    const runId = await submitted(engine, pipelines, workflow)
    engine.succeed(runId)
    const ended = await pipelines.inStatus(workflow, runId, 'Succeeded')
    expect((await cancel(workflow, runId)).body).toEqual(ended)
  })

  it('ends a run that the engine does not have yet', async () => {
    const workflow = await pipelines.workflow()
    engine.fault = new Error('away')
    const runId = await pipelines.running(workflow)
    expect((await cancel(workflow, runId)).body.status).toBe('Cancelling')
    engine.fault = undefined
    expect((await cancel(workflow, runId)).status).toBe(200)
    await pipelines.inStatus(workflow, runId, 'Cancelled')
  })

  it('of many runs holds up no other run, of this space or another, and no look at one', async () => {
    const workflow = await pipelines.workflow()
    const runs = await Promise.all(Array.from({ length: 20 }, () => submitted(engine, pipelines, workflow)))
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    engine.held = held
    try {
      for (const runId of runs) expect((await cancel(workflow, runId)).body.status).toBe('Cancelling')
      const others = pipelinesIn(platform, other)
      for (const space of [pipelines, others]) {
        const another = await space.workflow()
        const runId = await submitted(engine, space, another)
        engine.start(runId)
        await space.inStatus(another, runId, 'Running')
      }
      const shown = await pipelines.call('GET', `/${workflow}/runs/${runs[19]}`)
      expect([shown.status, shown.body.status]).toEqual([200, 'Cancelling'])
    } finally {
      engine.held = undefined
      release()
    }
    for (const runId of runs) await pipelines.inStatus(workflow, runId, 'Cancelled')
  })
})

describe('a retry', () => {
  const retry = (workflow: string, runId: string, headers = {}) =>
    pipelines.call('POST', `/${workflow}/runs/${runId}:retry`, { headers })

  /** A run with one task that succeeded, one that failed and one behind that. */
  async function failed() {
    const workflow = await pipelines.workflow([task('good'), task('bad'), task('behind', ['bad'])])
    const runId = await submitted(engine, pipelines, workflow)
    engine.succeed(runId, 'good')
    engine.fail(runId, 'bad', 'oops')
    const before = await pipelines.inStatus(workflow, runId, 'Failed')
    return { workflow, runId, before }
  }

  it('runs what is not finished in a new attempt, and keeps the rest', async () => {
    const { workflow, runId, before } = await failed()
    const answer = await retry(workflow, runId)
    const pending = { status: 'Pending', attempt: 2, message: '', startedAt: null, completedAt: null }
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({
      status: 'Pending',
      attempt: 2,
      startedAt: before.startedAt,
      completedAt: null,
      message: '1 of 3 tasks succeeded',
      tasks: [before.tasks[0], { name: 'bad', ...pending }, { name: 'behind', ...pending }],
    })
    await vi.waitUntil(() => engine.submitted.some((run) => run.runId === runId && run.attempt === 2))
    const resubmitted = engine.submitted.find((run) => run.runId === runId && run.attempt === 2)
    expect(resubmitted).toMatchObject({
      finished: ['good'],
      tasks: [{ name: 'good' }, { name: 'bad' }, { name: 'behind' }],
    })
    engine.succeed(runId)
    const ended = await pipelines.inStatus(workflow, runId, 'Succeeded')
    expect(ended.tasks.map((one: { attempt: number }) => one.attempt)).toEqual([1, 2, 2])
  })

  it('is for failed runs alone', async () => {
    const workflow = await pipelines.workflow()
    const runId = await submitted(engine, pipelines, workflow)
    expect((await retry(workflow, runId)).status).toBe(409)
    engine.succeed(runId)
    await pipelines.inStatus(workflow, runId, 'Succeeded')
    const answer = await retry(workflow, runId)
    expect([answer.status, answer.body.detail]).toEqual([409, expect.stringContaining('Succeeded')])
  })

  it('happens once for a key, also at the same moment', async () => {
    const { workflow, runId } = await failed()
    const headers = { 'idempotency-key': 'again' }
    const answers = await Promise.all(Array.from({ length: 8 }, () => retry(workflow, runId, headers)))
    expect(answers.map(({ status, body }) => [status, body.runId, body.attempt])).toEqual(
      Array(8).fill([200, runId, 2]),
    )
    const next = await failed()
    expect((await retry(next.workflow, next.runId, headers)).status).toBe(200)
  })

  it('happens once without a key, too', async () => {
    const { workflow, runId } = await failed()
    const answers = await Promise.all(Array.from({ length: 5 }, () => retry(workflow, runId)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409])
  })

  it('is refused with the key of another run', async () => {
    const { workflow, runId } = await failed()
    const second = await submitted(engine, pipelines, workflow)
    engine.fail(second, 'bad', '')
    engine.succeed(second, 'good')
    await pipelines.inStatus(workflow, second, 'Failed')
    const headers = { 'idempotency-key': 'shared' }
    expect((await retry(workflow, runId, headers)).status).toBe(200)
    expect((await retry(workflow, second, headers)).status).toBe(409)
    expect((await retry(workflow, runId, { 'idempotency-key': 'ö' })).status).toBe(400)
  })
})

describe('deleting a run', () => {
  it('is for runs that ended, in the version that is named', async () => {
    const workflow = await pipelines.workflow()
    const runId = await submitted(engine, pipelines, workflow)
    const path = `/${workflow}/runs/${runId}`
    expect((await pipelines.call('DELETE', path)).status).toBe(409)
    engine.succeed(runId)
    await pipelines.inStatus(workflow, runId, 'Succeeded')
    expect((await pipelines.call('DELETE', path, { headers: { 'if-match': '"999"' } })).status).toBe(412)
    const tag = (await pipelines.call('GET', path)).headers.get('etag') ?? ''
    expect((await pipelines.call('DELETE', path, { headers: { 'if-match': tag } })).status).toBe(204)
    expect((await pipelines.call('DELETE', path)).status).toBe(404)
    await vi.waitUntil(() => engine.removed.some((ref) => ref.runId === runId))
    expect((await pipelines.call('GET', `/${workflow}/runs`)).body).toEqual({
      runs: [],
      nextPageToken: '',
      totalSize: 0,
    })
  })
})

describe('whoever may not', () => {
  it('is refused at every operation', async () => {
    const workflow = await pipelines.workflow()
    const runId = await submitted(engine, pipelines, workflow)
    const operations = [
      ['POST', `/${workflow}/runs?stage=test`],
      ['GET', `/${workflow}/runs`],
      ['GET', `/${workflow}/runs/${runId}`],
      ['GET', `/${workflow}/runs/${runId}/events`],
      ['POST', `/${workflow}/runs/${runId}:cancel`],
      ['POST', `/${workflow}/runs/${runId}:retry`],
      ['DELETE', `/${workflow}/runs/${runId}`],
    ] as const
    const elsewhere = pipelinesIn(platform, other)
    const theirs = await elsewhere.workflow()
    for (const [method, path] of operations) {
      const at = `/workflows/v1/spaces/${home.spaceId}/workflows${path}`
      expect((await platform.call(method, at)).status, path).toBe(401)
      expect((await platform.call(method, at, { token: home.apiKey })).status, path).toBe(401)
      expect((await platform.call(method, at, { token: other.ownerToken })).status, path).toBe(403)
      expect((await elsewhere.call(method, path)).status, path).toBe(404)
      if (!path.includes(runId)) continue
      // A run of another workflow, and ids that are none.
      for (const wrong of [
        path.replace(workflow, theirs),
        path.replace(runId, UNKNOWN_ID),
        path.replace(runId, 'x'),
      ])
        expect((await elsewhere.call(method, wrong)).status, wrong).toBe(404)
      expect((await pipelines.call(method, path.replace(workflow, theirs))).status, path).toBe(404)
    }
    expect((await pipelines.call('GET', `/${workflow}/runs/${runId}`)).body.status).toBe('Pending')
  })
})
