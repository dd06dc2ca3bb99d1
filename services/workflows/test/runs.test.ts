import { startTestPlatform, type TestPlatform, type TestSpace } from '@atrium/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Pipelines, pipelinesIn, task, UNKNOWN_ID } from './pipelines.ts'
import { ScriptedEngine } from './scripted-engine.ts'

const engine = new ScriptedEngine()
let platform: TestPlatform
let home: TestSpace
let other: TestSpace
let pipelines: Pipelines
beforeAll(async () => {
  platform = await startTestPlatform({ engine })
  ;[home, other] = [await platform.space(), await platform.space()]
  pipelines = pipelinesIn(platform, home)
})
afterAll(() => platform.close())
beforeEach(() => Object.assign(engine, { fault: undefined, obeys: true, tells: true }))

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const handedOver = (runId: string) => vi.waitUntil(() => engine.submitted.find((run) => run.runId === runId))

/** A run that the engine has. */
async function submitted(workflow: string): Promise<string> {
  const runId = await pipelines.running(workflow)
  await handedOver(runId)
  return runId
}

describe('making a run', () => {
  it('records it, hands it over and answers it', async () => {
    const workflow = await pipelines.workflow([task('a'), task('b', ['a'])], { KEY: 'value' })
    const answer = await pipelines.run(workflow)
    expect(answer.status).toBe(201)
    const pending = { status: 'Pending', attempt: 1, startedAt: null, completedAt: null, message: '' }
    expect(answer.body).toEqual({
      workflowId: workflow,
      runId: expect.stringMatching(/^[0-9a-f-]{14}7/),
      stage: 'test',
      versionId: 'v1',
      configurationId: 'stage-values',
      resolvedConfiguration: { KEY: 'value' },
      triggerId: null,
      status: 'Pending',
      attempt: 1,
      createdBy: expect.stringMatching(/^qx-member-/),
      createdAt: expect.stringMatching(TIME),
      startedAt: null,
      completedAt: null,
      message: '0 of 2 tasks succeeded',
      tasks: [
        { name: 'a', ...pending, dependencies: [] },
        { name: 'b', ...pending, dependencies: ['a'] },
      ],
    })
    expect(await handedOver(answer.body.runId)).toEqual({
      spaceId: home.spaceId,
      workflowId: workflow,
      runId: answer.body.runId,
      attempt: 1,
      tasks: [
        {
          name: 'a',
          template: { name: 'run-python-code', version: expect.stringMatching(/^v1\.\d+\.\d+$/) },
          arguments: { script: 'main.py' },
          dependencies: [],
        },
        expect.objectContaining({ name: 'b', dependencies: ['a'] }),
      ],
      finished: [],
    })
    const read = await pipelines.call('GET', `/${workflow}/runs/${answer.body.runId}`)
    expect([read.status, read.body]).toEqual([200, answer.body])
    expect(read.headers.get('etag')).toBe(answer.headers.get('etag'))
  })

  it.each([[''], ['null'], ['{}']])('takes the body %j', async (body) => {
    const workflow = await pipelines.workflow()
    const answer = await pipelines.run(workflow, { body })
    expect([answer.status, answer.body.configurationId]).toEqual([201, null])
  })

  it('merges three sources key by key, and names the first on record that gave a value', async () => {
    const args = { args: '${config.A} ${config.B} ${config.C}' }
    const workflow = await pipelines.workflow([task('only', [], args)], {
      A: 'stage',
      B: 'stage',
      C: 'stage',
    })
    await pipelines.configure(workflow, 'named', { B: 'named', C: 'named' })
    await pipelines.configure(workflow, 'empty', {})
    const cases = [
      [undefined, { A: 'stage', B: 'stage', C: 'stage' }, 'stage-values'],
      [{ configurationId: 'named' }, { A: 'stage', B: 'named', C: 'named' }, 'named'],
      [
        { configuration: { C: 'inline' }, configurationId: 'named' },
        { A: 'stage', B: 'named', C: 'inline' },
        'named',
      ],
      [{ configuration: { C: 'inline' } }, { A: 'stage', B: 'stage', C: 'inline' }, 'stage-values'],
      [{ configuration: { A: '1', B: '2', C: '3' } }, { A: '1', B: '2', C: '3' }, null],
      [{ configurationId: 'empty' }, { A: 'stage', B: 'stage', C: 'stage' }, 'stage-values'],
      [{ configurationId: 'stage-values' }, { A: 'stage', B: 'stage', C: 'stage' }, 'stage-values'],
    ] as const
    for (const [body, resolved, configurationId] of cases) {
      const answer = await pipelines.run(workflow, { body })
      expect(answer.status, JSON.stringify(answer.body)).toBe(201)
      expect(answer.body).toMatchObject({ resolvedConfiguration: resolved, configurationId })
      const run = await handedOver(answer.body.runId)
      expect(run?.tasks[0]?.arguments.args).toBe(`${resolved.A} ${resolved.B} ${resolved.C}`)
    }
  })

  it('keeps what it resolved when the configuration changes later', async () => {
    const workflow = await pipelines.workflow([task('only')], { KEY: 'before', __proto__x: 'y' })
    const { body } = await pipelines.run(workflow)
    await pipelines.configure(workflow, 'stage-values', { KEY: 'after' })
    const read = await pipelines.call('GET', `/${workflow}/runs/${body.runId}`)
    expect(read.body.resolvedConfiguration).toEqual({ KEY: 'before', __proto__x: 'y' })
  })

  it('is refused with every reference that nothing resolves', async () => {
    const workflow = await pipelines.workflow([
      task('a', [], { args: '${config.ONE} ${config.TWO}' }),
      task('b', [], { args: '${config.ONE}', env: '{"T":"${secret.NOWHERE}"}' }),
    ])
    const answer = await pipelines.run(workflow)
    expect(answer.status).toBe(422)
    const messages = answer.body.detail.map(({ msg }: { msg: string }) => msg)
    expect(messages).toEqual([
      expect.stringMatching(/a.*config\.ONE/),
      expect.stringMatching(/a.*config\.TWO/),
      expect.stringMatching(/b.*config\.ONE/),
    ])
    const secret = await pipelines.run(workflow, { body: { configuration: { ONE: '1', TWO: '2' } } })
    expect([secret.status, secret.body.detail]).toEqual([
      422,
      [{ msg: expect.stringMatching(/b.*secret\.NOWHERE/) }],
    ])
    const list = await pipelines.call('GET', `/${workflow}/runs`)
    expect(list.body.totalSize).toBe(0)
  })

  it('reads values of the configuration for no references, and keeps them within the bounds', async () => {
    const workflow = await pipelines.workflow([task('only', [], { args: '${config.A}'.repeat(500) })])
    const literal = await pipelines.run(workflow, {
      body: { configuration: { A: '${secret.X}${config.B}' } },
    })
    expect(literal.status).toBe(201)
    const huge = await pipelines.run(workflow, { body: { configuration: { A: 'x'.repeat(500_000) } } })
    expect([huge.status, huge.body.detail[0].msg]).toEqual([
      422,
      expect.stringContaining('args is longer than'),
    ])
  })

  it('checks what the configuration gave as it would check the argument itself', async () => {
    const workflow = await pipelines.workflow([task('only', [], { workingDirectory: '${config.DIR}' })])
    const answer = await pipelines.run(workflow, { body: { configuration: { DIR: '../../etc' } } })
    expect([answer.status, answer.body.detail[0].msg]).toEqual([
      422,
      expect.stringContaining('workingDirectory'),
    ])
  })

  it.each([
    ['', undefined, 400, /query.*stage/],
    ['stage=staging', undefined, 400, /query\.stage/],
    ['stage=prod', undefined, 404, /stage prod has no version/],
    ['stage=test&versionId=none', undefined, 404, /Version none not found/],
    ['stage=test', { configurationId: 'none' }, 404, /Configuration none not found/],
    ['stage=test', { configuration: { A: 1 } }, 400, /body\.configuration/],
    ['stage=test', { configuration: 'x' }, 400, /body\.configuration/],
    ['stage=test', { configurationId: 'NOT AN ID' }, 400, /body\.configurationId/],
    ['stage=test', [], 400, /body/],
    ['stage=test', '{', 400, /JSON/],
  ])('is refused with the query %s and the body %j', async (query, body, status, detail) => {
    const workflow = await pipelines.workflow()
    const answer = await pipelines.run(workflow, { body }, query)
    expect([answer.status, answer.body.detail]).toEqual([status, expect.stringMatching(detail)])
  })

  it('takes a version that is assigned nowhere, with the configuration of the stage', async () => {
    const workflow = await pipelines.workflow([task('only')], { KEY: 'v' })
    await pipelines.put(`/${workflow}/versions/v2`, { tasks: [task('two')] })
    const answer = await pipelines.run(workflow, {}, 'stage=test&versionId=v2')
    expect(answer.body).toMatchObject({ versionId: 'v2', configurationId: 'stage-values' })
    const unassigned = await pipelines.run(workflow, {}, 'stage=prod&versionId=v2')
    expect(unassigned.body).toMatchObject({ versionId: 'v2', stage: 'prod', configurationId: null })
  })

  it('is refused where the space has as many runs as it may have', async () => {
    await using small = await startTestPlatform({ engine, env: { ATRIUM_WORKFLOWS_ACTIVE_RUNS: '2' } })
    const own = pipelinesIn(small, await small.space())
    const workflow = await own.workflow()
    const first = await own.running(workflow)
    await own.running(workflow)
    const refused = await own.run(workflow)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([
      429,
      expect.stringMatching(/^\d+$/),
    ])
    await handedOver(first)
    engine.succeed(first)
    await own.inStatus(workflow, first, 'Succeeded')
    expect((await own.run(workflow)).status).toBe(201)
  })

  it('is refused where no engine is configured', async () => {
    const env = {
      NODE_ENV: 'production',
      ATRIUM_SANDBOX: 'off',
      ATRIUM_PUBLIC_URL: 'https://atrium.example.test',
    }
    await using bare = await startTestPlatform({ env })
    const own = pipelinesIn(bare, await bare.space())
    const workflow = await own.workflow()
    const answer = await own.run(workflow)
    expect([answer.status, answer.body.detail]).toEqual([503, expect.stringContaining('ATRIUM_ENGINE')])
  })
})

describe('an idempotency key', () => {
  const keyed = (key: string) => ({ headers: { 'idempotency-key': key } })

  it('makes one run of equal requests, one after the other', async () => {
    const workflow = await pipelines.workflow()
    const body = { configuration: { B: '2', A: '1' } }
    const first = await pipelines.run(workflow, { ...keyed('k'), body })
    const again = await pipelines.run(workflow, {
      ...keyed('k'),
      body: { configuration: { A: '1', B: '2' } },
    })
    expect([again.status, again.body]).toEqual([201, first.body])
  })

  it('makes one run of equal requests at the same moment', async () => {
    const workflow = await pipelines.workflow()
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => pipelines.run(workflow, keyed('at-once'))),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
    expect(new Set(answers.map(({ body }) => body.runId)).size).toBe(1)
    expect((await pipelines.call('GET', `/${workflow}/runs`)).body.totalSize).toBe(1)
  })

  it('is refused with another request, and free in another workflow', async () => {
    const [one, two] = [await pipelines.workflow(), await pipelines.workflow()]
    const first = await pipelines.run(one, keyed('k'))
    const others = [
      await pipelines.run(one, { ...keyed('k'), body: { configuration: { A: '1' } } }),
      await pipelines.run(one, keyed('k'), 'stage=test&versionId=v1'),
    ]
    for (const { status, body } of others)
      expect([status, body.detail]).toEqual([409, expect.stringContaining('Idempotency-Key')])
    expect((await pipelines.run(two, keyed('k'))).body.runId).not.toBe(first.body.runId)
  })

  it('is not used up by a request that was refused, nor by a run that is gone', async () => {
    const workflow = await pipelines.workflow([task('only', [], { args: '${config.A}' })])
    expect((await pipelines.run(workflow, keyed('k'))).status).toBe(422)
    await pipelines.configure(workflow, 'a', { A: '1' })
    await pipelines.assign(workflow, 'test', 'v1', 'a')
    const made = await pipelines.run(workflow, keyed('k'))
    expect(made.status).toBe(201)
    await handedOver(made.body.runId)
    engine.succeed(made.body.runId)
    await pipelines.inStatus(workflow, made.body.runId, 'Succeeded')
    expect((await pipelines.call('DELETE', `/${workflow}/runs/${made.body.runId}`)).status).toBe(204)
    expect((await pipelines.run(workflow, keyed('k'))).body.runId).not.toBe(made.body.runId)
  })

  it('stands for 24 hours', async () => {
    const workflow = await pipelines.workflow()
    const first = await pipelines.run(workflow, keyed('old'))
    const age = (hours: number) =>
      platform.pool.query(
        'UPDATE workflows.idempotency_keys SET created_at = now() - make_interval(hours => $1) WHERE run_id = $2',
        [hours, first.body.runId],
      )
    await age(23)
    expect((await pipelines.run(workflow, keyed('old'))).body.runId).toBe(first.body.runId)
    await age(25)
    expect((await pipelines.run(workflow, keyed('old'))).body.runId).not.toBe(first.body.runId)
  })

  it.each(['', 'x'.repeat(256), 'täst'])('is refused as %j', async (key) => {
    const workflow = await pipelines.workflow()
    const answer = await pipelines.run(workflow, keyed(Buffer.from(key).toString('latin1')))
    expect([answer.status, answer.body.detail]).toEqual([400, expect.stringContaining('idempotency-key')])
  })
})

describe('a run on its way', () => {
  it('shows what the engine sees, up to the end', async () => {
    const workflow = await pipelines.workflow([task('a'), task('b', ['a'])])
    const runId = await submitted(workflow)
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
    const runId = await submitted(workflow)
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
    const runId = await submitted(workflow)
    engine.tells = false
    engine.succeed(runId)
    engine.fault = new Error('away')
    expect((await pipelines.call('GET', `/${workflow}/runs/${runId}`)).body.status).toBe('Pending')
    engine.fault = undefined
    expect((await pipelines.call('GET', `/${workflow}/runs/${runId}`)).body.status).toBe('Succeeded')
  })

  it('fails when the engine has lost it, and runs nothing twice', async () => {
    const workflow = await pipelines.workflow([task('a'), task('b')])
    const runId = await submitted(workflow)
    engine.succeed(runId, 'a')
    await pipelines.until(workflow, runId, ({ message }) => message.startsWith('1 of 2'))
    engine.lose(runId)
    const failed = await pipelines.inStatus(workflow, runId, 'Failed')
    expect(failed.message).toContain('does not know this run any more')
    expect(failed.tasks.map((one: { status: string }) => one.status)).toEqual(['Succeeded', 'Failed'])
  })

  it('takes messages of any kind', async () => {
    const workflow = await pipelines.workflow()
    const runId = await submitted(workflow)
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
    const runId = await submitted(workflow)
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
    const runId = await submitted(workflow)
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
})

describe('a retry', () => {
  const retry = (workflow: string, runId: string, headers = {}) =>
    pipelines.call('POST', `/${workflow}/runs/${runId}:retry`, { headers })

  /** A run with one task that succeeded, one that failed and one behind that. */
  async function failed() {
    const workflow = await pipelines.workflow([task('good'), task('bad'), task('behind', ['bad'])])
    const runId = await submitted(workflow)
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
    const runId = await submitted(workflow)
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
    const second = await submitted(workflow)
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
    const runId = await submitted(workflow)
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
    const runId = await submitted(workflow)
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
