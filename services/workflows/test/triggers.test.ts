import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pipelinesIn } from './pipelines.ts'
import { ScriptedEngine } from './scripted-engine.ts'
import { type ScriptedPlatform, startScripted, TIME } from './scripted-platform.ts'
import { callHook, NIGHTLY, putTrigger, ready, SCHEDULE, triggerRow, WEBHOOK } from './support/triggers.ts'

let platform: ScriptedPlatform['platform']
let home: ScriptedPlatform['home']
let other: ScriptedPlatform['other']
let pipelines: ScriptedPlatform['pipelines']
beforeAll(async () => {
  ;({ platform, home, other, pipelines } = await startScripted(new ScriptedEngine()))
})
afterAll(() => platform.close())

describe('a schedule trigger', () => {
  it('needs a stage with both a version and a configuration', async () => {
    const workflow = await pipelines.workflow()
    for (const stage of ['test', 'prod']) {
      const answer = await putTrigger(pipelines, workflow, 'nightly', { ...SCHEDULE, stage })
      expect([answer.status, answer.body.detail]).toEqual([404, expect.stringContaining(`stage ${stage}`)])
    }
    expect((await pipelines.call('GET', `/${workflow}/triggers/nightly`)).status).toBe(404)
  })

  it('shows its schedule, and when it fires next is on record', async () => {
    const workflow = await ready(pipelines)
    const made = await putTrigger(pipelines, workflow, 'nightly', SCHEDULE)
    expect([made.status, made.body]).toEqual([
      201,
      {
        workflowId: workflow,
        triggerId: 'nightly',
        type: 'schedule',
        stage: 'test',
        enabled: true,
        config: { signatureValidation: false, ...NIGHTLY },
        createdAt: expect.stringMatching(TIME),
        updatedAt: expect.stringMatching(TIME),
      },
    ])
    const { next_at: next, secret_hash: hash } = await triggerRow(platform, workflow)
    const clock = next.toLocaleTimeString('en-GB', {
      timeZone: 'Europe/Berlin',
      hour: '2-digit',
      minute: '2-digit',
    })
    expect([clock, hash, next > new Date()]).toEqual(['02:30', null, true])
  })

  it('is suspended while it is disabled, and loses no tick by other changes', async () => {
    const workflow = await ready(pipelines)
    await putTrigger(pipelines, workflow, 'nightly', SCHEDULE)
    await putTrigger(pipelines, workflow, 'nightly', { ...SCHEDULE, enabled: false })
    expect((await triggerRow(platform, workflow)).next_at).toBeNull()
    await putTrigger(pipelines, workflow, 'nightly', SCHEDULE)
    const due = new Date(Date.now() - 1000)
    await platform.pool.query('UPDATE workflows.triggers SET next_at = $1 WHERE workflow_id = $2', [
      due,
      workflow,
    ])
    await putTrigger(pipelines, workflow, 'nightly', SCHEDULE)
    expect((await triggerRow(platform, workflow)).next_at).toEqual(due)
    await putTrigger(pipelines, workflow, 'nightly', { ...SCHEDULE, config: { schedule: '0 * * * *' } })
    expect((await triggerRow(platform, workflow)).next_at > new Date()).toBe(true)
  })

  it('becomes a webhook and back, with a secret of its own', async () => {
    const workflow = await ready(pipelines)
    await putTrigger(pipelines, workflow, 'changing', SCHEDULE)
    const hook = await putTrigger(pipelines, workflow, 'changing', WEBHOOK)
    expect([hook.status, hook.body.config]).toEqual([200, { signatureValidation: false, timezone: 'UTC' }])
    expect((await callHook(platform, hook.body.webhookUrl)).status).toBe(201)
    const back = await putTrigger(pipelines, workflow, 'changing', SCHEDULE)
    expect(back.body).not.toHaveProperty('webhookUrl')
    expect((await callHook(platform, hook.body.webhookUrl)).status).toBe(404)
  })

  it.each([
    [{ schedule: '61 * * * *' }, /schedule.*minute/],
    [{ schedule: '* * * *' }, /five fields/],
    [{ schedule: '@hourly' }, /five fields/],
    [{ schedule: '0 0 31 2 *' }, /no day/],
    [{ schedule: '* * * * *', timezone: 'Mars/Olympus' }, /timezone/],
    [{ schedule: null }, /schedule is required/],
    [{}, /schedule is required/],
    [{ schedule: 5 }, /schedule/],
  ])('is refused with the configuration %j', async (config, detail) => {
    const answer = await putTrigger(pipelines, await ready(pipelines), 'nightly', { ...SCHEDULE, config })
    expect([answer.status, answer.body.detail]).toEqual([400, expect.stringMatching(detail)])
  })
})

describe('a trigger', () => {
  it.each([
    ['ok', { ...WEBHOOK, type: 'mail' }, /body\.type/],
    ['ok', { ...WEBHOOK, stage: 'staging' }, /body\.stage/],
    ['ok', { ...WEBHOOK, enabled: 'yes' }, /body\.enabled/],
    ['ok', { ...WEBHOOK, config: { signatureValidation: 1 } }, /signatureValidation/],
    ['ok', { ...WEBHOOK, config: { schedule: '* * * * *' } }, /schedule is not for webhooks/],
    ['ok', { ...WEBHOOK, config: { timezone: 'Nowhere' } }, /timezone/],
    ['ok', {}, /body\.type is required/],
    ['ok', [], /body/],
    ['Not-An-Id', WEBHOOK, /triggerId/],
    ['a'.repeat(64), WEBHOOK, /triggerId/],
  ])('is refused as %s %j', async (id, body, detail) => {
    const answer = await putTrigger(pipelines, await pipelines.workflow(), id, body)
    expect([answer.status, answer.body.detail]).toEqual([400, expect.stringMatching(detail)])
  })

  it('is one, however many make it at once, and only one of them learns the secret', async () => {
    const workflow = await pipelines.workflow()
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => putTrigger(pipelines, workflow, 'hook', WEBHOOK)),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(9).fill(200), 201])
    const urls = answers.flatMap(({ body }) => (body.webhookUrl === undefined ? [] : [body.webhookUrl]))
    expect(urls).toHaveLength(1)
    expect((await callHook(platform, urls[0])).status).toBe(201)
  })

  it('starts its run by hand, enabled or not, of either type', async () => {
    const workflow = await ready(pipelines)
    await putTrigger(pipelines, workflow, 'hook', { ...WEBHOOK, enabled: false })
    await putTrigger(pipelines, workflow, 'nightly', { ...SCHEDULE, enabled: false })
    for (const id of ['hook', 'nightly']) {
      const answer = await pipelines.call('POST', `/${workflow}/triggers/${id}:invoke`)
      expect(answer.status).toBe(201)
      expect(answer.body).toMatchObject({ triggerId: id, stage: 'test', configurationId: 'stage-values' })
      expect(answer.body.createdBy).toMatch(/^qx-member-/)
    }
    await putTrigger(pipelines, workflow, 'empty', { ...WEBHOOK, stage: 'int' })
    const empty = await pipelines.call('POST', `/${workflow}/triggers/empty:invoke`)
    expect([empty.status, empty.body.detail]).toEqual([422, expect.stringContaining('stage int')])
    expect((await pipelines.call('POST', `/${workflow}/triggers/absent:invoke`)).status).toBe(404)
  })

  it('is changed and deleted in the version that is named', async () => {
    const workflow = await pipelines.workflow()
    const made = await putTrigger(pipelines, workflow, 'hook', WEBHOOK)
    const tag = { 'if-match': made.headers.get('etag') ?? '' }
    expect((await putTrigger(pipelines, workflow, 'hook', WEBHOOK, tag)).status).toBe(200)
    expect((await putTrigger(pipelines, workflow, 'hook', WEBHOOK, tag)).status).toBe(412)
    expect((await putTrigger(pipelines, workflow, 'absent', WEBHOOK, tag)).status).toBe(412)
    const path = `/${workflow}/triggers/hook`
    expect((await pipelines.call('DELETE', path, { headers: tag })).status).toBe(412)
    expect((await pipelines.call('DELETE', path, { headers: { 'if-match': '"2"' } })).status).toBe(204)
    expect((await pipelines.call('DELETE', path)).status).toBe(404)
  })

  it('lists in the order of creation, and not at all without its workflow', async () => {
    const workflow = await pipelines.workflow()
    for (const id of ['c', 'a', 'b']) await putTrigger(pipelines, workflow, id, WEBHOOK)
    const list = await pipelines.call('GET', `/${workflow}/triggers`)
    expect(list.body.items.map((one: { triggerId: string }) => one.triggerId)).toEqual(['c', 'a', 'b'])
    const part = await pipelines.call('GET', `/${workflow}/triggers?limit=1&page=2`)
    expect([part.body.items[0].triggerId, part.body.totalCount]).toEqual(['a', 3])
    expect((await pipelines.call('GET', `/${workflow}/triggers?page=0`)).status).toBe(400)
    expect((await pipelines.call('GET', '/absent/triggers')).status).toBe(404)
    expect((await putTrigger(pipelines, 'absent', 'hook', WEBHOOK)).status).toBe(404)
  })

  it('is closed to others, at every operation', async () => {
    const workflow = await pipelines.workflow()
    await putTrigger(pipelines, workflow, 'hook', WEBHOOK)
    const elsewhere = pipelinesIn(platform, other)
    const theirs = await elsewhere.workflow()
    for (const [method, path] of [
      ['PUT', '/triggers/hook'],
      ['GET', '/triggers/hook'],
      ['GET', '/triggers'],
      ['POST', '/triggers/hook:invoke'],
      ['POST', '/triggers/hook:rotate-secret'],
      ['DELETE', '/triggers/hook'],
    ] as const) {
      const body = method === 'PUT' ? { body: WEBHOOK } : {}
      const at = `/workflows/v1/spaces/${home.spaceId}/workflows/${workflow}${path}`
      expect((await platform.call(method, at, body)).status, path).toBe(401)
      expect((await platform.call(method, at, { ...body, token: home.apiKey })).status, path).toBe(401)
      expect((await platform.call(method, at, { ...body, token: other.ownerToken })).status, path).toBe(403)
      expect((await elsewhere.call(method, `/${workflow}${path}`, body)).status, path).toBe(404)
      if (method !== 'PUT' && path !== '/triggers')
        expect((await elsewhere.call(method, `/${theirs}${path}`)).status, path).toBe(404)
    }
    expect((await pipelines.call('GET', `/${workflow}/triggers/hook`)).headers.get('etag')).toBe('"1"')
  })
})
