import { createHash, createHmac } from 'node:crypto'
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pipelinesIn, task } from './pipelines.ts'
import { ScriptedEngine } from './scripted-engine.ts'
import { type ScriptedPlatform, startScripted, TIME } from './scripted-platform.ts'
import {
  type Call,
  callHook,
  putTrigger,
  ready,
  SCHEDULE,
  secretOf,
  triggerRow,
  WEBHOOK,
} from './support/triggers.ts'

let platform: ScriptedPlatform['platform']
let pipelines: ScriptedPlatform['pipelines']
beforeAll(async () => {
  ;({ platform, pipelines } = await startScripted(new ScriptedEngine()))
})
afterAll(() => platform.close())

describe('a webhook trigger', () => {
  it('tells its address when it is made, and never again', async () => {
    const workflow = await pipelines.workflow()
    const made = await putTrigger(pipelines, workflow, 'hook', WEBHOOK)
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
    const again = await putTrigger(pipelines, workflow, 'hook', {
      ...WEBHOOK,
      config: { signatureValidation: true },
    })
    expect([again.status, again.body]).toEqual([
      200,
      {
        ...shown,
        config: { signatureValidation: true, timezone: 'UTC' },
        updatedAt: expect.stringMatching(TIME),
      },
    ])
    const row = await triggerRow(platform, workflow)
    expect(row.secret_hash).toEqual(createHash('sha256').update(secretOf(webhookUrl)).digest())
    expect(JSON.stringify(row)).not.toContain(secretOf(webhookUrl))
  })

  it('starts a run, tagged with it, by whatever body', async () => {
    const workflow = await ready(pipelines)
    const { webhookUrl } = (await putTrigger(pipelines, workflow, 'hook', WEBHOOK)).body
    const bodies: Call[] = [
      {},
      { body: '{"ref":"main"}' },
      { body: '{not json' },
      { body: Buffer.from([0, 255, 1]), headers: { 'content-type': 'application/octet-stream' } },
      { headers: { 'x-signature-256': 'not looked at'.repeat(100) } },
      { body: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    ]
    for (const call of bodies) {
      const answer = await callHook(platform, webhookUrl, call)
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
      await putTrigger(pipelines, workflow, 'hook', { ...WEBHOOK, config: { signatureValidation: true } })
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
    for (const call of right) expect((await callHook(platform, webhookUrl, call)).status).toBe(201)
    const empty = { headers: { 'x-signature-256': sign('') } }
    expect((await callHook(platform, webhookUrl, empty)).status).toBe(201)
    const wrong: Call[] = [
      { body },
      signed(body, sign(`${body} `)),
      signed(body, sign(body, 'another key')),
      signed(body, sign(body).slice(0, -2)),
      signed(body, `${sign(body)}00`),
      signed(body, sign(body).replace('sha256=', 'sha1=')),
      signed(body, sign(body).replace('sha256=', '')),
      signed(body, 'sha256='),
      signed(body, `${sign(body)}${'0'.repeat(5000)}`),
      signed(body, ''),
      signed(JSON.stringify(JSON.parse(body)), sign(body)),
      {},
    ]
    for (const call of wrong) {
      const answer = await callHook(platform, webhookUrl, call)
      expect([answer.status, answer.body.detail]).toEqual([401, expect.stringContaining('X-Signature-256')])
    }
    const { body: runs } = await pipelines.call('GET', `/${workflow}/runs`)
    expect(runs.totalSize).toBe(4)
  })

  it.each(['', 'garbage', 'text/html', 'application/json; charset=utf-7', '*/*', ';;'])(
    'takes a body whose type is "%s"',
    async (type) => {
      const workflow = await pipelines.workflow()
      const { webhookUrl } = (
        await putTrigger(pipelines, workflow, 'hook', { ...WEBHOOK, config: { signatureValidation: true } })
      ).body
      const body = '{"not": json'
      const signature = createHmac('sha256', secretOf(webhookUrl)).update(body).digest('hex')
      const answer = await new Promise<number | undefined>((resolve, reject) => {
        const headers = {
          'content-type': type,
          'content-length': body.length,
          'x-signature-256': `sha256=${signature}`,
        }
        const path = new URL(webhookUrl).pathname
        const sent = request(platform.url + path, { method: 'POST', headers }, (got) => {
          got.resume()
          resolve(got.statusCode)
        })
        sent.on('error', reject)
        sent.end(body)
      })
      expect(answer).toBe(201)
    },
  )

  it('is found by an enabled trigger’s secret alone', async () => {
    const workflow = await pipelines.workflow()
    const { webhookUrl } = (await putTrigger(pipelines, workflow, 'hook', WEBHOOK)).body
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
      const { status } = await callHook(platform, `${platform.url}/workflows/v1/webhooks/${encodeURI(wrong)}`)
      expect([400, 404], wrong).toContain(status)
    }
    await putTrigger(pipelines, workflow, 'hook', { ...WEBHOOK, enabled: false })
    expect((await callHook(platform, webhookUrl)).status).toBe(404)
    await putTrigger(pipelines, workflow, 'hook', WEBHOOK)
    expect((await callHook(platform, webhookUrl)).status).toBe(201)
    expect((await pipelines.call('DELETE', `/${workflow}/triggers/hook`)).status).toBe(204)
    expect((await callHook(platform, webhookUrl)).status).toBe(404)
  })

  it('is refused while its stage has no version, or something is not resolved', async () => {
    const workflow = await pipelines.workflow([task('only', [], { args: '${config.A}' })])
    const { webhookUrl } = (await putTrigger(pipelines, workflow, 'hook', { ...WEBHOOK, stage: 'prod' })).body
    const empty = await callHook(platform, webhookUrl)
    expect([empty.status, empty.body.detail]).toEqual([409, expect.stringContaining('stage prod')])
    await pipelines.assign(workflow, 'prod', 'v1')
    const unresolved = await callHook(platform, webhookUrl, { body: '{"configuration":{"A":"1"}}' })
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
    expect((await callHook(platform, webhookUrl)).status).toBe(404)
  })

  it('refuses a body of 30 MiB', async () => {
    const workflow = await pipelines.workflow()
    const { webhookUrl } = (await putTrigger(pipelines, workflow, 'hook', WEBHOOK)).body
    const body = Buffer.alloc(30 * 1024 * 1024)
    const announced = await callHook(platform, webhookUrl, {
      body,
      headers: { 'content-type': 'application/json' },
    })
    expect([announced.status, typeof announced.body.detail]).toEqual([413, 'string'])
    expect((await pipelines.call('GET', `/${workflow}/runs`)).body.totalSize).toBe(0)
    const unknown = `${platform.url}/workflows/v1/webhooks/${'A'.repeat(43)}`
    expect((await callHook(platform, unknown, { body })).status).toBe(404)
  })
})

describe('rotating a secret', () => {
  const rotate = (workflow: string, id: string, headers = {}) =>
    pipelines.call('POST', `/${workflow}/triggers/${id}:rotate-secret`, { headers })

  it('gives a new address, and the old one is unknown', async () => {
    const workflow = await pipelines.workflow()
    const made = (await putTrigger(pipelines, workflow, 'hook', { ...WEBHOOK, enabled: true })).body
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
    expect((await callHook(platform, made.webhookUrl)).status).toBe(404)
    expect((await callHook(platform, rotated.body.webhookUrl)).status).toBe(201)
    expect((await rotate(workflow, 'hook', { 'if-match': '"1"' })).status).toBe(412)
  })

  it('is for webhooks', async () => {
    const workflow = await ready(pipelines)
    await putTrigger(pipelines, workflow, 'nightly', SCHEDULE)
    expect((await rotate(workflow, 'nightly')).status).toBe(400)
    expect((await rotate(workflow, 'absent')).status).toBe(404)
  })
})
