import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type EventReader, readEvents } from './support/events.ts'
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

const read = (run: RecordedRun, query = '', headers = {}) =>
  platform.call('GET', `${run.path}/logs${query}`, { token: space.memberToken, headers })
const follow = (
  run: RecordedRun,
  query = '?follow=true',
  headers: Record<string, string> = {},
): Promise<EventReader> =>
  readEvents(`${platform.url}${run.path}/logs${query}`, {
    authorization: `Bearer ${space.memberToken}`,
    ...headers,
  })
const texts = (reader: EventReader): string[] => reader.events.flatMap(({ data }) => data.text ?? [])

describe('a log as text', () => {
  it('is that of one task, or of all with their names, in the order in which it came', async () => {
    const run = await recordRun(platform, space.spaceId, ['a', 'b'])
    await output.appendLog(refOf(run, 'a'), 'one\n\ntwo\n')
    await output.appendLog(refOf(run, 'b'), 'three\n')
    await output.appendLog(refOf(run, 'a'), 'four\n')
    const ofTask = await read(run, '?task=a')
    expect([ofTask.status, ofTask.body]).toEqual([200, 'one\n\ntwo\nfour\n'])
    expect(ofTask.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect((await read(run)).body).toBe('a | one\na | \na | two\nb | three\na | four\n')
  })

  it('is empty where nothing was said', async () => {
    const run = await recordRun(platform, space.spaceId, ['a'])
    expect((await read(run)).body).toBe('')
  })

  it('is that of the attempt in which a task was last started, or of the one asked for', async () => {
    const run = await recordRun(platform, space.spaceId, ['a', 'b'])
    await output.appendLog(refOf(run, 'a'), 'first\n')
    await output.appendLog(refOf(run, 'b'), 'done\n')
    await run.setTask('a', 'Running', 2)
    await output.appendLog(refOf(run, 'a', 2), 'second\n')
    expect((await read(run)).body).toBe('b | done\na | second\n')
    expect((await read(run, '?task=a&attempt=1')).body).toBe('first\n')
  })

  it('goes on behind the last piece that the reader has', async () => {
    const run = await recordRun(platform, space.spaceId, ['a'])
    for (const line of ['1\n', '2\n', '3\n']) await output.appendLog(refOf(run, 'a'), line)
    const reader = await follow(run, '', { accept: 'text/event-stream' })
    await vi.waitFor(() => expect(reader.isEnded).toBe(true))
    const { id = '' } = reader.events[1] ?? {}
    expect((await read(run, '?task=a', { 'last-event-id': id })).body).toBe('3\n')
  })

  it('ends with a line that says so where it is too long', async () => {
    const run = await recordRun(platform, space.spaceId, ['a', 'b'])
    const short = stores.output({ logBytes: 10 })
    for (const line of ['12345\n', '6789\n', 'lost\n']) await short.appendLog(refOf(run, 'a'), line)
    await short.appendLog(refOf(run, 'b'), 'kept\n')
    expect((await read(run, '?task=a')).body).toBe('12345\n6789\nThe log ends here: it has reached 64 MiB\n')
    expect((await read(run, '?task=b')).body).toBe('kept\n')
  })

  it('keeps what no database takes as another sign', async () => {
    const run = await recordRun(platform, space.spaceId, ['a'])
    await output.appendLog(refOf(run, 'a'), 'a\0b \u{1F600} \uD800\n')
    expect((await read(run, '?task=a')).body).toBe('a\uFFFDb \u{1F600} \uFFFD\n')
  })

  it('of a run that is gone goes with it', async () => {
    const run = await recordRun(platform, space.spaceId, ['a'])
    await platform.pool.query('DELETE FROM workflows.runs WHERE run_id = $1', [run.runId])
    await output.appendLog(refOf(run, 'a'), 'late\n')
    expect((await read(run)).status).toBe(404)
  })

  it('is whole whatever its length', async () => {
    const run = await recordRun(platform, space.spaceId, ['a'])
    const line = `${'x'.repeat(99)}\n`
    const piece = line.repeat(600)
    for (let count = 0; count < 40; count++) await output.appendLog(refOf(run, 'a'), piece)
    const { body } = await read(run, '?task=a')
    expect(body.length).toBe(piece.length * 40)
  })

  it('is of somebody’s own space, and of a run and task that there are', async () => {
    const run = await recordRun(platform, space.spaceId, ['a'])
    const unknown = '0198c5a0-0000-7000-8000-00000000ffff'
    const calls = [
      [run.path, other.memberToken, 403],
      [run.path.replace(space.spaceId, other.spaceId), other.memberToken, 404],
      [run.path.replace(run.runId, unknown), space.memberToken, 404],
      [run.path.replace(run.runId, 'nothing'), space.memberToken, 404],
      [run.path.replace(run.workflowId, 'another'), space.memberToken, 404],
      [run.path, undefined, 401],
    ] as const
    for (const [path, token, status] of calls) {
      const answer = await platform.call('GET', `${path}/logs`, token === undefined ? {} : { token })
      expect([path, answer.status]).toEqual([path, status])
    }
    expect((await read(run, '?task=nothing')).status).toBe(404)
    for (const query of ['?attempt=0', '?attempt=x', '?follow=x', '?task='])
      expect([query, (await read(run, query)).status]).toEqual([query, 400])
    const odd = await read(run, '', { 'last-event-id': 'x' })
    expect([odd.status, odd.body.detail]).toEqual([400, expect.stringContaining('last-event-id')])
  })
})

describe('a log as it grows', () => {
  it('comes piece by piece, and ends with the run', async () => {
    const run = await recordRun(platform, space.spaceId, ['a', 'b'])
    await output.appendLog(refOf(run, 'a'), 'before\n')
    const reader = await follow(run)
    expect([reader.status, reader.headers['content-type']]).toEqual([200, 'text/event-stream; charset=utf-8'])
    await vi.waitFor(() => expect(texts(reader)).toEqual(['before\n']))
    await output.appendLog(refOf(run, 'b'), 'after\n')
    await vi.waitFor(() => expect(texts(reader)).toEqual(['before\n', 'after\n']))
    expect(reader.events[1]).toMatchObject({
      event: 'log',
      id: expect.stringMatching(/^\d+$/),
      data: { task: 'b', attempt: 1 },
    })
    await run.setTask('a', 'Succeeded')
    await output.appendLog(refOf(run, 'b'), 'last words\n')
    await run.setRun('Failed')
    await vi.waitFor(() => expect(reader.isEnded).toBe(true))
    expect(texts(reader).at(-1)).toBe('last words\n')
    expect(reader.events.at(-1)).toEqual({ event: 'end', data: { status: 'Failed' } })
  })

  it('ends with the task where it is that of one', async () => {
    const run = await recordRun(platform, space.spaceId, ['a', 'b'])
    const reader = await follow(run, '?follow=true&task=a')
    await output.appendLog(refOf(run, 'b'), 'not mine\n')
    await output.appendLog(refOf(run, 'a'), 'mine\n')
    await run.setTask('a', 'Succeeded')
    await vi.waitFor(() => expect(reader.isEnded).toBe(true))
    expect(texts(reader)).toEqual(['mine\n'])
    expect(reader.events.at(-1)?.data).toEqual({ status: 'Succeeded' })
  })

  it('goes on where a reader was that comes again, with nothing twice', async () => {
    const run = await recordRun(platform, space.spaceId, ['a'])
    const first = await follow(run)
    await output.appendLog(refOf(run, 'a'), '1\n')
    await output.appendLog(refOf(run, 'a'), '2\n')
    await vi.waitFor(() => expect(texts(first)).toEqual(['1\n', '2\n']))
    first.close()
    await output.appendLog(refOf(run, 'a'), '3\n')
    const second = await follow(run, '?follow=true', { 'last-event-id': first.events[1]?.id ?? '' })
    await run.setRun('Succeeded')
    await vi.waitFor(() => expect(second.isEnded).toBe(true))
    expect(texts(second)).toEqual(['3\n'])
  })

  it('comes as text to whoever wants text', async () => {
    const run = await recordRun(platform, space.spaceId, ['a'])
    const reading = read(run, '?follow=true&task=a', { accept: 'text/plain' })
    await output.appendLog(refOf(run, 'a'), '1\n')
    await run.setRun('Cancelled')
    expect((await reading).body).toBe('1\n')
  })

  it('misses nothing and has nothing twice while many write at once', async () => {
    const tasks = Array.from({ length: 8 }, (_, index) => `t${index}`)
    const run = await recordRun(platform, space.spaceId, tasks)
    const reader = await follow(run)
    await Promise.all(
      tasks.map(async (task) => {
        for (let line = 0; line < 25; line++) await output.appendLog(refOf(run, task), `${line}\n`)
      }),
    )
    await run.setRun('Succeeded')
    await vi.waitFor(() => expect(reader.isEnded).toBe(true), { timeout: 10_000 })
    const all = Array.from({ length: 25 }, (_, line) => `${line}\n`)
    for (const task of tasks) {
      const ofTask = reader.events.filter(({ data }) => data.task === task).map(({ data }) => data.text)
      expect(ofTask).toEqual(all)
    }
    const ids = reader.events.slice(0, -1).map(({ id }) => Number(id))
    expect(ids).toEqual(ids.toSorted((a, b) => a - b))
  })

  it('is followed by a hundred readers of a space in a process, and by one of another beside them', async () => {
    const run = await recordRun(platform, space.spaceId, ['a'])
    const readers = await Promise.all(Array.from({ length: 100 }, () => follow(run)))
    expect(new Set(readers.map(({ status }) => status))).toEqual(new Set([200]))
    const refused = await read(run, '?follow=true')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])
    const neighbours = await recordRun(platform, other.spaceId, ['a'])
    const neighbour = await readEvents(`${platform.url}${neighbours.path}/logs?follow=true`, {
      authorization: `Bearer ${other.memberToken}`,
    })
    expect(neighbour.status).toBe(200)
    neighbour.close()
    for (const reader of readers) reader.close()
    await vi.waitFor(async () => {
      const again = await follow(run)
      again.close()
      expect(again.status).toBe(200)
    })
  })
})
