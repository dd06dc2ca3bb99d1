import { sharedTestPlatform, type TestPlatform, type TestSpace } from '@atrium/testing'
import { beforeAll, describe, expect, it } from 'vitest'

let platform: TestPlatform
let space: TestSpace
beforeAll(async () => {
  platform = await sharedTestPlatform()
  space = await platform.space()
})

const at = (path = '', { spaceId } = space): string => `/workflows/v1/spaces/${spaceId}/workflows${path}`
const call = (
  method: string,
  path: string,
  options: { body?: unknown; token?: string; headers?: Record<string, string> } = {},
) => platform.call(method, path, { token: space.memberToken, ...options })

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

describe('a workflow', () => {
  it('is made by PUT, changed by the same, read and deleted', async () => {
    const made = await call('PUT', at('/training'), { body: { name: 'Training' } })
    expect(made.status).toBe(201)
    expect(made.body).toEqual({
      spaceId: space.spaceId,
      workflowId: 'training',
      name: 'Training',
      maxParallelRuns: null,
      createdAt: expect.stringMatching(TIME),
      updatedAt: expect.stringMatching(TIME),
    })
    const changed = await call('PUT', at('/training'), { body: { name: 'Again', maxParallelRuns: 2 } })
    expect(changed.status).toBe(201)
    expect(changed.body).toMatchObject({ name: 'Again', maxParallelRuns: 2, createdAt: made.body.createdAt })
    const kept = await call('PUT', at('/training'), { body: { name: 'Once more' } })
    expect(kept.body.maxParallelRuns).toBe(2)
    const read = await call('GET', at('/training'))
    expect([read.status, read.body]).toEqual([200, kept.body])
    expect((await call('DELETE', at('/training'))).status).toBe(204)
    for (const method of ['GET', 'DELETE']) {
      const gone = await call(method, at('/training'))
      expect([gone.status, gone.body]).toEqual([404, { detail: 'Workflow training not found' }])
    }
  })

  it('takes a client of the space, and what a client read and sends back', async () => {
    const token = platform.superuserClient.token
    const made = await call('PUT', at('/by-client'), { token, body: { name: 'a' } })
    const back = { ...made.body, workflowId: 'other', createdAt: 'never', name: 'b' }
    const put = await call('PUT', at('/by-client'), { token, body: back })
    expect(put.body).toMatchObject({ workflowId: 'by-client', name: 'b', createdAt: made.body.createdAt })
  })

  it.each([
    ['Upper', { name: 'n' }, /workflowId must be 1 to 63 lower-case letters/],
    ['-a', { name: 'n' }, /workflowId/],
    ['a-', { name: 'n' }, /workflowId/],
    ['a_b', { name: 'n' }, /workflowId/],
    ['a'.repeat(64), { name: 'n' }, /workflowId/],
    ['%20', { name: 'n' }, /workflowId/],
    ['%0a', { name: 'n' }, /workflowId/],
    ['ok', {}, /body\.name is required/],
    ['ok', { name: ' ' }, /body\.name must not be blank/],
    ['ok', { name: 5 }, /body\.name must be a string/],
    ['ok', { name: 'n'.repeat(257) }, /body\.name must have at most 256/],
    ['ok', { name: 'n', maxParallelRuns: 0 }, /body\.maxParallelRuns/],
    ['ok', [], /body must be an object/],
  ])('is refused as %s %j', async (id, body, detail) => {
    const answer = await call('PUT', at(`/${id}`), { body })
    expect([answer.status, answer.body]).toEqual([400, { detail: expect.stringMatching(detail) }])
  })

  it('takes an id of one and of 63 characters', async () => {
    for (const id of ['a', '0', `a${'-'.repeat(61)}9`])
      expect((await call('PUT', at(`/${id}`), { body: { name: 'n' } })).body.workflowId).toBe(id)
  })

  it('is one, however many make it at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => call('PUT', at('/at-once'), { body: { name: `n${n}` } })),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(201))
    expect((await call('GET', at('/at-once'))).headers.get('etag')).toBe('"10"')
  })

  it('is changed and deleted in a version of it alone, where one is named', async () => {
    const made = await call('PUT', at('/tagged'), { body: { name: 'a' } })
    const first = { 'if-match': made.headers.get('etag') ?? '' }
    expect(first).toEqual({ 'if-match': '"1"' })
    expect((await call('PUT', at('/tagged'), { body: { name: 'b' }, headers: first })).status).toBe(201)
    expect((await call('PUT', at('/tagged'), { body: { name: 'c' }, headers: first })).status).toBe(412)
    expect((await call('DELETE', at('/tagged'), { headers: first })).status).toBe(412)
    expect((await call('GET', at('/tagged'))).body.name).toBe('b')
    expect((await call('PUT', at('/absent'), { body: { name: 'c' }, headers: first })).status).toBe(412)
    expect((await call('DELETE', at('/tagged'), { headers: { 'if-match': '"2"' } })).status).toBe(204)
  })

  it('is not deleted while it has a run that has not ended', async () => {
    await call('PUT', at('/busy'), { body: { name: 'n' } })
    const insert = `INSERT INTO workflows.runs (space_id, workflow_id, run_id, stage, version_id,
        resolved_configuration, plan, engine, status, completed_at, created_by)
      VALUES ($1, 'busy', gen_random_uuid(), 'test', 'v', '{}', '[]', 'local', $2, $3, 'q')`
    await platform.pool.query(insert, [space.spaceId, 'Succeeded', new Date()])
    await platform.pool.query(insert, [space.spaceId, 'Cancelling', null])
    const refused = await call('DELETE', at('/busy'))
    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining('not ended')])
    await platform.pool.query(
      "UPDATE workflows.runs SET status = 'Cancelled', completed_at = now() WHERE workflow_id = 'busy'",
    )
    expect((await call('DELETE', at('/busy'))).status).toBe(204)
    const { rows } = await platform.pool.query("SELECT FROM workflows.runs WHERE workflow_id = 'busy'")
    expect(rows).toEqual([])
  })
})

describe('the list of workflows', () => {
  it('has all of the space in the order of creation, and parts of it', async () => {
    const own = await platform.space()
    const list = (query = '') => call('GET', `${at('', own)}${query}`, { token: own.memberToken })
    expect((await list()).body).toEqual({ items: [], totalCount: 0 })
    const ids = Array.from({ length: 7 }, (_, n) => `w${(n * 5) % 7}`)
    for (const id of ids) await call('PUT', at(`/${id}`, own), { body: { name: id }, token: own.memberToken })
    const idsOf = async (query?: string): Promise<unknown> => {
      const { status, body } = await list(query)
      return [status, body.items.map(({ workflowId }: { workflowId: string }) => workflowId), body.totalCount]
    }
    expect(await idsOf()).toEqual([200, ids, 7])
    expect(await idsOf('?limit=3')).toEqual([200, ids.slice(0, 3), 7])
    expect(await idsOf('?limit=3&page=3')).toEqual([200, ids.slice(6), 7])
    expect(await idsOf('?limit=3&page=9')).toEqual([200, [], 7])
    for (const query of ['?limit=0', '?limit=1001', '?limit=x', '?limit=1&page=0'])
      expect((await list(query)).status, query).toBe(400)
  })

  it('comes whole and in order when it is longer than a batch', async () => {
    const own = await platform.space()
    await platform.pool.query(
      `INSERT INTO workflows.workflows (space_id, workflow_id, name)
       SELECT $1, 'w' || n, repeat('ä', 200) FROM generate_series(1, 1700) AS n`,
      [own.spaceId],
    )
    const { body } = await call('GET', at('', own), { token: own.ownerToken })
    expect(body.totalCount).toBe(1700)
    const ids = body.items.map(({ workflowId }: { workflowId: string }) => workflowId)
    // All of one moment: then the id decides.
    expect(ids).toHaveLength(1700)
    expect(new Set(ids).size).toBe(1700)
  })
})

describe('who may', () => {
  it('work with workflows: people and clients of the space, no API keys and no strangers', async () => {
    const stranger = (await platform.space()).ownerToken
    await call('PUT', at('/guarded'), { body: { name: 'n' } })
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/guarded'],
      ['PUT', '/guarded'],
      ['DELETE', '/guarded'],
    ] as const) {
      const send = async (token?: string): Promise<number> =>
        (
          await platform.call(method, at(path), {
            ...(token === undefined ? {} : { token }),
            ...(method === 'PUT' ? { body: { name: 'taken' } } : {}),
          })
        ).status
      expect(await send()).toBe(401)
      expect(await send(space.apiKey)).toBe(401)
      expect(await send(stranger)).toBe(403)
    }
    expect((await call('GET', at('/guarded'))).body.name).toBe('n')
    expect((await call('GET', at('', { ...space, spaceId: 'nowhere' }))).status).toBe(404)
  })
})
