import { createHash, createHmac } from 'node:crypto'
import { startTestPlatform, type TestPlatform, type TestSpace } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Pipelines, pipelinesIn, task } from './pipelines.ts'
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

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const WEBHOOK = { type: 'webhook', stage: 'test', enabled: true, config: {} }
const NIGHTLY = { schedule: '30 2 * * 1-5', timezone: 'Europe/Berlin' }
const SCHEDULE = { type: 'schedule', stage: 'test', enabled: true, config: NIGHTLY }

const put = (workflow: string, id: string, body: unknown, headers = {}) =>
  pipelines.call('PUT', `/${workflow}/triggers/${id}`, { body, headers })

/** What calls of a webhook go to, below the platform's address. */
const pathOf = (url: string): string => new URL(url).pathname
const secretOf = (url: string): string => url.split('/').at(-1) ?? ''

interface Call {
  readonly body?: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
}
const callHook = (url: string, { body, headers = {} }: Call = {}) =>
  platform.call('POST', pathOf(url), { headers, ...(body === undefined ? {} : { body }) })

/** A workflow whose stage `test` has a version and a configuration. */
const ready = () => pipelines.workflow([task('only')], { KEY: 'value' })

const rowOf = async (workflow: string) => {
  const { rows } = await platform.pool.query('SELECT * FROM workflows.triggers WHERE workflow_id = $1', [
    workflow,
  ])
  return rows[0]
}

describe('a webhook trigger', () => {
  it('tells its address when it is made, and never again', async () => {
    const workflow = await pipelines.workflow()
    const made = await put(workflow, 'hook', WEBHOOK)
    expect(made.status).toBe(201)
    const { webhookUrl, ...shown } = made.body
    expect(shown).toEqual({
      workflowId: workflow,
      triggerId: 'hook',
      type: 'webhook',
      stage: 'test',
      enabled: true,
      config: { signatureValidation: false, timezone: 'UTC' },
      createdAt: expect.stringMatching(TIME),
      updatedAt: expect.stringMatching(TIME),
    })
    expect(webhookUrl).toMatch(/^http:\/\/[^/]+\/workflows\/v1\/webhooks\/[A-Za-z0-9_-]{43}$/)
    const read = await pipelines.call('GET', `/${workflow}/triggers/hook`)
    expect([read.status, read.body]).toEqual([200, shown])
    const list = await pipelines.call('GET', `/${workflow}/triggers`)
    expect([list.status, list.body]).toEqual([200, { items: [shown], totalCount: 1 }])
    const again = await put(workflow, 'hook', { ...WEBHOOK, config: { signatureValidation: true } })
    expect([again.status, again.body]).toEqual([
      200,
      {
        ...shown,
        config: { signatureValidation: true, timezone: 'UTC' },
        updatedAt: expect.stringMatching(TIME),
      },
    ])
    const row = await rowOf(workflow)
    expect(row.secret_hash).toEqual(createHash('sha256').update(secretOf(webhookUrl)).digest())
    expect(JSON.stringify(row)).not.toContain(secretOf(webhookUrl))
  })

  it('starts a run, tagged with it, by whatever body', async () => {
    const workflow = await ready()
    const { webhookUrl } = (await put(workflow, 'hook', WEBHOOK)).body
    const bodies: Call[] = [
      {},
      { body: '{"ref":"main"}' },
      { body: '{not json' },
      { body: Buffer.from([0, 255, 1]), headers: { 'content-type': 'application/octet-stream' } },
      { body: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    ]
    for (const call of bodies) {
      const answer = await callHook(webhookUrl, call)
      expect(answer.status, JSON.stringify(answer.body)).toBe(201)
      expect(answer.body).toEqual({ workflowId: workflow, runId: expect.any(String), status: 'Pending' })
      const run = await pipelines.call('GET', `/${workflow}/runs/${answer.body.runId}`)
      expect(run.body).toMatchObject({
        triggerId: 'hook',
        createdBy: 'trigger:hook',
        configurationId: 'stage-values',
        resolvedConfiguration: { KEY: 'value' },
      })
    }
  })

  it('demands a signature of the raw body where it validates them', async () => {
    const workflow = await pipelines.workflow()
    const { webhookUrl } = (
      await put(workflow, 'hook', { ...WEBHOOK, config: { signatureValidation: true } })
    ).body
    const sign = (body: string | Buffer, key = secretOf(webhookUrl)) =>
      `sha256=${createHmac('sha256', key).update(body).digest('hex')}`
    const signed = (body: string | Buffer, signature: string): Call => ({
      body,
      headers: { 'content-type': 'application/json', 'x-signature-256': signature },
    })
    const body = '{ "b": 1,\n "a": "ü" }'
    const bytes = Buffer.from([0xff, 0x00, 0xfe])
    const right = [
      signed(body, sign(body)),
      signed(bytes, sign(bytes)),
      signed(
        body,
        sign(body).replace(/[a-f]/g, (c) => c.toUpperCase()),
      ),
    ]
    for (const call of right) expect((await callHook(webhookUrl, call)).status).toBe(201)
    const empty = { headers: { 'x-signature-256': sign('') } }
    expect((await callHook(webhookUrl, empty)).status).toBe(201)
    const wrong: Call[] = [
      { body },
      signed(body, sign(`${body} `)),
      signed(body, sign(body, 'another key')),
      signed(body, sign(body).slice(0, -2)),
      signed(body, `${sign(body)}00`),
      signed(body, sign(body).replace('sha256=', 'sha1=')),
      signed(body, sign(body).replace('sha256=', '')),
      signed(body, 'sha256='),
      signed(body, ''),
      signed(JSON.stringify(JSON.parse(body)), sign(body)),
      {},
    ]
    for (const call of wrong) {
      const answer = await callHook(webhookUrl, call)
      expect([answer.status, answer.body.detail]).toEqual([401, expect.stringContaining('X-Signature-256')])
    }
    const { body: runs } = await pipelines.call('GET', `/${workflow}/runs`)
    expect(runs.totalSize).toBe(4)
  })

  it('is found by an enabled trigger’s secret alone', async () => {
    const workflow = await pipelines.workflow()
    const { webhookUrl } = (await put(workflow, 'hook', WEBHOOK)).body
    const secret = secretOf(webhookUrl)
    const others = [
      'x',
      `${secret}x`,
      secret.slice(1),
      `${secret.slice(0, -1)}~`,
      'A'.repeat(43),
      '%00',
      "' OR true --",
    ]
    for (const wrong of others) {
      const { status } = await callHook(`${platform.url}/workflows/v1/webhooks/${encodeURI(wrong)}`)
      expect([400, 404], wrong).toContain(status)
    }
    await put(workflow, 'hook', { ...WEBHOOK, enabled: false })
    expect((await callHook(webhookUrl)).status).toBe(404)
    await put(workflow, 'hook', WEBHOOK)
    expect((await callHook(webhookUrl)).status).toBe(201)
    expect((await pipelines.call('DELETE', `/${workflow}/triggers/hook`)).status).toBe(204)
    expect((await callHook(webhookUrl)).status).toBe(404)
  })

  it('is refused while its stage has no version, or something is not resolved', async () => {
    const workflow = await pipelines.workflow([task('only', [], { args: '${config.A}' })])
    const { webhookUrl } = (await put(workflow, 'hook', { ...WEBHOOK, stage: 'prod' })).body
    const empty = await callHook(webhookUrl)
    expect([empty.status, empty.body.detail]).toEqual([409, expect.stringContaining('stage prod')])
    await pipelines.assign(workflow, 'prod', 'v1')
    const unresolved = await callHook(webhookUrl, { body: '{"configuration":{"A":"1"}}' })
    expect([unresolved.status, unresolved.body.detail]).toEqual([
      422,
      [{ msg: expect.stringContaining('config.A') }],
    ])
  })

  it('is gone while its space is', async () => {
    const space = await platform.space()
    const own = pipelinesIn(platform, space)
    const workflow = await own.workflow()
    const { webhookUrl } = (await own.put(`/${workflow}/triggers/hook`, WEBHOOK)).body
    const token = platform.superuser.token
    expect((await platform.call('DELETE', `/portal/v1/spaces/${space.spaceId}`, { token })).status).toBe(204)
    expect((await callHook(webhookUrl)).status).toBe(404)
  })

  it('refuses a body of 30 MiB', async () => {
    const workflow = await pipelines.workflow()
    const { webhookUrl } = (await put(workflow, 'hook', WEBHOOK)).body
    const body = Buffer.alloc(30 * 1024 * 1024)
    const announced = await callHook(webhookUrl, { body, headers: { 'content-type': 'application/json' } })
    expect([announced.status, typeof announced.body.detail]).toEqual([413, 'string'])
    expect((await pipelines.call('GET', `/${workflow}/runs`)).body.totalSize).toBe(0)
    const unknown = `${platform.url}/workflows/v1/webhooks/${'A'.repeat(43)}`
    expect((await callHook(unknown, { body })).status).toBe(404)
  })
})

describe('rotating a secret', () => {
  const rotate = (workflow: string, id: string, headers = {}) =>
    pipelines.call('POST', `/${workflow}/triggers/${id}:rotate-secret`, { headers })

  it('gives a new address, and the old one is unknown', async () => {
    const workflow = await pipelines.workflow()
    const made = (await put(workflow, 'hook', { ...WEBHOOK, enabled: true })).body
    const rotated = await rotate(workflow, 'hook')
    expect([rotated.status, rotated.body]).toEqual([
      200,
      {
        ...made,
        webhookUrl: expect.stringMatching(/\/v1\/webhooks\/.{43}$/),
        updatedAt: expect.stringMatching(TIME),
      },
    ])
    expect(rotated.body.webhookUrl).not.toBe(made.webhookUrl)
    expect((await callHook(made.webhookUrl)).status).toBe(404)
    expect((await callHook(rotated.body.webhookUrl)).status).toBe(201)
    expect((await rotate(workflow, 'hook', { 'if-match': '"1"' })).status).toBe(412)
  })

  it('is for webhooks', async () => {
    const workflow = await ready()
    await put(workflow, 'nightly', SCHEDULE)
    expect((await rotate(workflow, 'nightly')).status).toBe(400)
    expect((await rotate(workflow, 'absent')).status).toBe(404)
  })
})

describe('a schedule trigger', () => {
  it('needs a stage with both a version and a configuration', async () => {
    const workflow = await pipelines.workflow()
    for (const stage of ['test', 'prod']) {
      const answer = await put(workflow, 'nightly', { ...SCHEDULE, stage })
      expect([answer.status, answer.body.detail]).toEqual([404, expect.stringContaining(`stage ${stage}`)])
    }
    expect((await pipelines.call('GET', `/${workflow}/triggers/nightly`)).status).toBe(404)
  })

  it('shows its schedule, and when it fires next is on record', async () => {
    const workflow = await ready()
    const made = await put(workflow, 'nightly', SCHEDULE)
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
    const { next_at: next, secret_hash: hash } = await rowOf(workflow)
    const clock = next.toLocaleTimeString('en-GB', {
      timeZone: 'Europe/Berlin',
      hour: '2-digit',
      minute: '2-digit',
    })
    expect([clock, hash, next > new Date()]).toEqual(['02:30', null, true])
  })

  it('is suspended while it is disabled, and loses no tick by other changes', async () => {
    const workflow = await ready()
    await put(workflow, 'nightly', SCHEDULE)
    await put(workflow, 'nightly', { ...SCHEDULE, enabled: false })
    expect((await rowOf(workflow)).next_at).toBeNull()
    await put(workflow, 'nightly', SCHEDULE)
    const due = new Date(Date.now() - 1000)
    await platform.pool.query('UPDATE workflows.triggers SET next_at = $1 WHERE workflow_id = $2', [
      due,
      workflow,
    ])
    await put(workflow, 'nightly', SCHEDULE)
    expect((await rowOf(workflow)).next_at).toEqual(due)
    await put(workflow, 'nightly', { ...SCHEDULE, config: { schedule: '0 * * * *' } })
    expect((await rowOf(workflow)).next_at > new Date()).toBe(true)
  })

  it('becomes a webhook and back, with a secret of its own', async () => {
    const workflow = await ready()
    await put(workflow, 'changing', SCHEDULE)
    const hook = await put(workflow, 'changing', WEBHOOK)
    expect([hook.status, hook.body.config]).toEqual([200, { signatureValidation: false, timezone: 'UTC' }])
    expect((await callHook(hook.body.webhookUrl)).status).toBe(201)
    const back = await put(workflow, 'changing', SCHEDULE)
    expect(back.body).not.toHaveProperty('webhookUrl')
    expect((await callHook(hook.body.webhookUrl)).status).toBe(404)
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
    const answer = await put(await ready(), 'nightly', { ...SCHEDULE, config })
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
    const answer = await put(await pipelines.workflow(), id, body)
    expect([answer.status, answer.body.detail]).toEqual([400, expect.stringMatching(detail)])
  })

  it('is one, however many make it at once, and only one of them learns the secret', async () => {
    const workflow = await pipelines.workflow()
    const answers = await Promise.all(Array.from({ length: 10 }, () => put(workflow, 'hook', WEBHOOK)))
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(9).fill(200), 201])
    const urls = answers.flatMap(({ body }) => (body.webhookUrl === undefined ? [] : [body.webhookUrl]))
    expect(urls).toHaveLength(1)
    expect((await callHook(urls[0])).status).toBe(201)
  })

  it('starts its run by hand, enabled or not, of either type', async () => {
    const workflow = await ready()
    await put(workflow, 'hook', { ...WEBHOOK, enabled: false })
    await put(workflow, 'nightly', { ...SCHEDULE, enabled: false })
    for (const id of ['hook', 'nightly']) {
      const answer = await pipelines.call('POST', `/${workflow}/triggers/${id}:invoke`)
      expect(answer.status).toBe(201)
      expect(answer.body).toMatchObject({ triggerId: id, stage: 'test', configurationId: 'stage-values' })
      expect(answer.body.createdBy).toMatch(/^qx-member-/)
    }
    await put(workflow, 'empty', { ...WEBHOOK, stage: 'int' })
    const empty = await pipelines.call('POST', `/${workflow}/triggers/empty:invoke`)
    expect([empty.status, empty.body.detail]).toEqual([422, expect.stringContaining('stage int')])
    expect((await pipelines.call('POST', `/${workflow}/triggers/absent:invoke`)).status).toBe(404)
  })

  it('is changed and deleted in the version that is named', async () => {
    const workflow = await pipelines.workflow()
    const made = await put(workflow, 'hook', WEBHOOK)
    const tag = { 'if-match': made.headers.get('etag') ?? '' }
    expect((await put(workflow, 'hook', WEBHOOK, tag)).status).toBe(200)
    expect((await put(workflow, 'hook', WEBHOOK, tag)).status).toBe(412)
    expect((await put(workflow, 'absent', WEBHOOK, tag)).status).toBe(412)
    const path = `/${workflow}/triggers/hook`
    expect((await pipelines.call('DELETE', path, { headers: tag })).status).toBe(412)
    expect((await pipelines.call('DELETE', path, { headers: { 'if-match': '"2"' } })).status).toBe(204)
    expect((await pipelines.call('DELETE', path)).status).toBe(404)
  })

  it('lists in the order of creation, and not at all without its workflow', async () => {
    const workflow = await pipelines.workflow()
    for (const id of ['c', 'a', 'b']) await put(workflow, id, WEBHOOK)
    const list = await pipelines.call('GET', `/${workflow}/triggers`)
    expect(list.body.items.map((one: { triggerId: string }) => one.triggerId)).toEqual(['c', 'a', 'b'])
    const part = await pipelines.call('GET', `/${workflow}/triggers?limit=1&page=2`)
    expect([part.body.items[0].triggerId, part.body.totalCount]).toEqual(['a', 3])
    expect((await pipelines.call('GET', `/${workflow}/triggers?page=0`)).status).toBe(400)
    expect((await pipelines.call('GET', '/absent/triggers')).status).toBe(404)
    expect((await put('absent', 'hook', WEBHOOK)).status).toBe(404)
  })

  it('is closed to others, at every operation', async () => {
    const workflow = await pipelines.workflow()
    await put(workflow, 'hook', WEBHOOK)
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
