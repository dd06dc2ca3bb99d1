import { startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Pipelines, task, UNKNOWN_ID } from './pipelines.ts'
import { ScriptedEngine } from './scripted-engine.ts'
import { startScripted, submitted } from './scripted-platform.ts'

const engine = new ScriptedEngine()
/** Of both processes, so that each knows the other's tokens. */
const env = { ATRIUM_PUBLIC_URL: 'http://atrium.example.test' }
let platform: TestPlatform
let second: TestPlatform
let pipelines: Pipelines
let spaceId = ''
let token = ''
beforeAll(async () => {
  const scripted = await startScripted(engine, env)
  ;({ platform, pipelines } = scripted)
  ;({ spaceId, memberToken: token } = scripted.home)
  second = await startTestPlatform({ engine, env: { ...env, DATABASE_URL: platform.databaseUrl } })
})
afterAll(async () => {
  await second.close()
  await platform.close()
})

const pathOf = (workflow: string, runId: string): string =>
  `/workflows/v1/spaces/${spaceId}/workflows/${workflow}/runs/${runId}/events`

interface Event {
  readonly id: string
  readonly event: string
  readonly data: { readonly name?: string; readonly status: string; readonly message: string }
}

/** The events of a stream so far, as they come in. */
async function follow(url: string, workflow: string, runId: string, headers = {}) {
  const abort = new AbortController()
  const response = await fetch(`${url}${pathOf(workflow, runId)}`, {
    headers: { authorization: `Bearer ${token}`, ...headers },
    signal: abort.signal,
  })
  const events: Event[] = []
  let rest = ''
  const ended = (async () => {
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
      rest = parts.pop() ?? ''
      for (const part of parts) {
        const fields = Object.fromEntries(part.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2)))
        if (fields.event !== undefined) events.push({ ...fields, data: JSON.parse(fields.data) } as Event)
      }
    }
  })()
  return { response, events, ended, abort }
}

const words = (events: readonly Event[]): string[] =>
  events.map(({ data }) => `${data.name ?? 'run'} ${data.status}`)

describe('the events of a run', () => {
  it('come as they happen, in another process too, and end with the run', async () => {
    const workflow = await pipelines.workflow([task('a'), task('b', ['a'])])
    const runId = await submitted(engine, pipelines, workflow)
    const streams = [await follow(platform.url, workflow, runId), await follow(second.url, workflow, runId)]
    for (const { response, events } of streams) {
      expect([response.status, response.headers.get('content-type')]).toEqual([
        200,
        'text/event-stream; charset=utf-8',
      ])
      await vi.waitUntil(() => events.length > 0)
      expect(words(events)).toEqual(['run Pending'])
    }
    engine.start(runId, 'a')
    for (const { events } of streams) await vi.waitUntil(() => words(events).includes('run Running'))
    engine.fail(runId, 'a', 'exit code 1')
    for (const { events, ended } of streams) {
      await ended
      expect(words(events)).toEqual([
        'run Pending',
        'a Running',
        'run Running',
        'a Failed',
        'b Skipped',
        'run Failed',
      ])
      const ids = events.map(({ id }) => Number(id))
      expect(ids).toEqual(ids.toSorted((x, y) => x - y))
      expect(events.at(-1)?.data.message).toBe('Task a failed: exit code 1')
    }
  })

  it('go on after the last one that was seen', async () => {
    const workflow = await pipelines.workflow()
    const runId = await submitted(engine, pipelines, workflow)
    engine.succeed(runId)
    await pipelines.inStatus(workflow, runId, 'Succeeded')
    const all = await follow(platform.url, workflow, runId)
    await all.ended
    expect(words(all.events)).toEqual(['run Pending', 'only Succeeded', 'run Succeeded'])
    const rest = await follow(platform.url, workflow, runId, { 'last-event-id': all.events[0]?.id ?? '' })
    await rest.ended
    expect(rest.events).toEqual(all.events.slice(1))
    const nothing = await follow(platform.url, workflow, runId, {
      'last-event-id': all.events.at(-1)?.id ?? '',
    })
    expect(nothing.response.status).toBe(204)
  })

  it('fit the contract', async () => {
    const workflow = await pipelines.workflow()
    const runId = await submitted(engine, pipelines, workflow)
    engine.succeed(runId)
    await pipelines.inStatus(workflow, runId, 'Succeeded')
    const answer = await platform.call('GET', pathOf(workflow, runId), { token })
    expect([answer.status, answer.body.match(/event: /g)]).toEqual([200, Array(3).fill('event: ')])
    const all = { 'last-event-id': '9'.repeat(15) }
    expect((await platform.call('GET', pathOf(workflow, runId), { token, headers: all })).status).toBe(204)
    const last = { 'last-event-id': 'x' }
    expect((await platform.call('GET', pathOf(workflow, runId), { token, headers: last })).status).toBe(400)
    for (const id of [UNKNOWN_ID, 'x'])
      expect((await platform.call('GET', pathOf(workflow, id), { token })).status).toBe(404)
  })

  it('are followed by so many of a space at once, and by others when these leave', async () => {
    const workflow = await pipelines.workflow()
    const runId = await submitted(engine, pipelines, workflow)
    const open: Awaited<ReturnType<typeof follow>>[] = []
    for (let n = 0; n < 100; n++) open.push(await follow(platform.url, workflow, runId))
    const refused = await platform.call('GET', pathOf(workflow, runId), { token })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([
      429,
      expect.stringMatching(/^\d+$/),
    ])
    for (const { abort, ended } of open) {
      abort.abort()
      await ended.catch(() => {})
    }
    await vi.waitUntil(async () => {
      const next = await follow(platform.url, workflow, runId)
      next.abort.abort()
      await next.ended.catch(() => {})
      return next.response.status === 200
    })
  })

  it('end when the server stops', async () => {
    const workflow = await pipelines.workflow()
    const runId = await submitted(engine, pipelines, workflow)
    const { events, ended } = await follow(second.url, workflow, runId)
    await vi.waitUntil(() => events.length > 0)
    await second.close()
    await ended
    expect(words(events)).toEqual(['run Pending'])
  })
})
