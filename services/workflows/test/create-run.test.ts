import { startTestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pipelinesIn, task } from './pipelines.ts'
import { ScriptedEngine } from './scripted-engine.ts'
import { handedOver, type ScriptedPlatform, startScripted, TIME } from './scripted-platform.ts'

const engine = new ScriptedEngine()
let platform: ScriptedPlatform['platform']
let home: ScriptedPlatform['home']
let pipelines: ScriptedPlatform['pipelines']
beforeAll(async () => {
  ;({ platform, home, pipelines } = await startScripted(engine))
})
afterAll(() => platform.close())

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
    expect(await handedOver(engine, answer.body.runId)).toEqual({
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
      const run = await handedOver(engine, answer.body.runId)
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
    await handedOver(engine, first)
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

  it('is not used up by a request that was refused, but stands for a run also when that is gone', async () => {
    const workflow = await pipelines.workflow([task('only', [], { args: '${config.A}' })])
    expect((await pipelines.run(workflow, keyed('k'))).status).toBe(422)
    await pipelines.configure(workflow, 'a', { A: '1' })
    await pipelines.assign(workflow, 'test', 'v1', 'a')
    const made = await pipelines.run(workflow, keyed('k'))
    expect(made.status).toBe(201)
    await handedOver(engine, made.body.runId)
    engine.succeed(made.body.runId)
    await pipelines.inStatus(workflow, made.body.runId, 'Succeeded')
    expect((await pipelines.call('DELETE', `/${workflow}/runs/${made.body.runId}`)).status).toBe(204)
    const again = await pipelines.run(workflow, keyed('k'))
    expect([again.status, again.body.detail]).toEqual([
      409,
      `The run ${made.body.runId} that this Idempotency-Key stands for was deleted`,
    ])
    expect((await pipelines.call('DELETE', `/${workflow}`)).status).toBe(204)
  })

  it('of a workflow that is not there is refused as without it', async () => {
    const answer = await pipelines.call('POST', '/none/runs?stage=test', keyed('k'))
    expect([answer.status, answer.body]).toEqual([404, { detail: 'Workflow none not found' }])
  })

  it('and all else of a run without the id of its version is refused in words', async () => {
    const answer = await pipelines.run(await pipelines.workflow(), {}, 'stage=test&versionId=')
    expect([answer.status, answer.body.detail]).toEqual([400, 'query.versionId must not be empty'])
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
