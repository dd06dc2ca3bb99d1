import { beforeAll, describe, expect, it } from 'vitest'
import { createWorld, pythonTask, statusesOfOthers, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await createWorld()
  await world.put('workflows/w', { name: 'w' })
  await world.put('workflows/w/versions/v', { tasks: [pythonTask('a')] })
})

const at = (id: string): string => `workflows/w/configurations/${id}`
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

describe('a configuration', () => {
  it('is made by PUT (201), replaced by the same (200), read and deleted', async () => {
    const data = { zeta: '1', alpha: '', 'a.b-c_D': 'ä "quoted" ${config.X}\n' }
    const made = await world.send('PUT', at('first'), { body: { data } })
    expect([made.status, made.body]).toEqual([
      201,
      {
        configurationId: 'first',
        workflowId: 'w',
        data,
        createdAt: expect.stringMatching(TIME),
        updatedAt: expect.stringMatching(TIME),
      },
    ])
    expect(Object.keys(made.body.data).slice(0, 2)).toEqual(['zeta', 'alpha'])
    const replaced = await world.send('PUT', at('first'), { body: { data: { only: 'this' } } })
    expect([replaced.status, replaced.body.data]).toEqual([200, { only: 'this' }])
    expect(replaced.body.createdAt).toBe(made.body.createdAt)
    expect((await world.send('GET', at('first'))).body).toEqual(replaced.body)
    expect((await world.send('DELETE', at('first'))).status).toBe(204)
    for (const method of ['GET', 'DELETE']) {
      const gone = await world.send(method, at('first'))
      expect([gone.status, gone.body]).toEqual([404, { detail: 'Configuration first not found' }])
    }
  })

  it.each([
    [{}, /body\.data is required/],
    [{ data: [] }, /body\.data must be an object/],
    [{ data: 'a' }, /body\.data must be an object/],
    [{ data: { a: 1 } }, /body\.data\.a must be a string/],
    [{ data: { a: null } }, /body\.data\.a must be a string/],
    [{ data: { a: { b: 'c' } } }, /body\.data\.a must be a string/],
    [{ data: { 'a b': 'c' } }, /^body\.data\."a b" must be another key: keys are 1 to 128 letters/],
    [{ data: { '': 'c' } }, /^body\.data\."" must be another key/],
    [{ data: { '.a': 'c' } }, /^body\.data\."\.a" must be another key/],
    [{ data: { 'a}': 'c' } }, /must be another key/],
    [{ data: { ['k'.repeat(129)]: 'c' } }, /must be another key/],
    [{ data: { a: 'x\u0000' } }, /NUL/],
  ])('is refused as %j', async (body, detail) => {
    const answer = await world.send('PUT', at('wrong'), { body })
    expect([answer.status, answer.body.detail]).toEqual([400, expect.stringMatching(detail)])
  })

  it('is refused under an id that is none, and larger than a megabyte', async () => {
    for (const id of ['A', 'a.b', '-a', 'a'.repeat(64)])
      expect((await world.send('PUT', at(id), { body: { data: {} } })).status, id).toBe(400)
    const data = { a: 'x'.repeat(1_048_500) }
    expect((await world.send('PUT', at('large'), { body: { data } })).status).toBe(201)
    expect(
      (await world.send('PUT', at('large'), { body: { data: { a: 'x'.repeat(1_048_577) } } })).status,
    ).toBe(413)
  })

  it('keeps keys that every object has', async () => {
    const body = '{"data": {"constructor": "a", "toString": "b", "hasOwnProperty": "c", "0": "d"}}'
    expect((await world.send('PUT', at('odd'), { body })).status).toBe(201)
    const { data } = (await world.send('GET', at('odd'))).body
    expect(Object.entries(data)).toEqual(Object.entries(JSON.parse(body).data))
  })

  it('needs its workflow', async () => {
    const body = { data: {} }
    for (const [method, path] of [
      ['PUT', 'workflows/none/configurations/c'],
      ['GET', 'workflows/none/configurations/c'],
      ['DELETE', 'workflows/none/configurations/c'],
      ['GET', 'workflows/none/configurations'],
    ] as const)
      expect((await world.send(method, path, method === 'PUT' ? { body } : {})).status, path).toBe(404)
  })

  it('is changed and deleted in a version of its row alone, where one is named', async () => {
    const put = (value: string, headers?: Record<string, string>) =>
      world.send('PUT', at('tagged'), {
        body: { data: { value } },
        ...(headers === undefined ? {} : { headers }),
      })
    const first = { 'if-match': (await put('a')).headers.get('etag') ?? '' }
    expect([(await put('b', first)).status, (await put('c', first)).status]).toEqual([200, 412])
    expect((await world.send('DELETE', at('tagged'), { headers: first })).status).toBe(412)
    expect((await world.send('PUT', at('nothing'), { body: { data: {} }, headers: first })).status).toBe(412)
    expect((await world.send('DELETE', at('nothing'), { headers: first })).status).toBe(404)
    const now = { 'if-match': (await world.send('GET', at('tagged'))).headers.get('etag') ?? '' }
    expect((await world.send('DELETE', at('tagged'), { headers: now })).status).toBe(204)
  })

  it('stays while it is bound to a stage', async () => {
    await world.put(at('bound'), { data: {} })
    for (const stage of ['e2e', 'int'])
      await world.put(`workflows/w/stages/${stage}`, { versionId: 'v', configurationId: 'bound' })
    const refused = await world.send('DELETE', at('bound'))
    expect([refused.status, refused.body]).toEqual([
      409,
      { detail: 'Configuration bound is bound to the stages int, e2e' },
    ])
    for (const stage of ['e2e', 'int']) await world.put(`workflows/w/stages/${stage}`, { versionId: 'v' })
    expect((await world.send('DELETE', at('bound'))).status).toBe(204)
  })

  it('goes with its workflow, also while it is bound', async () => {
    await world.put('workflows/short', { name: 'w' })
    await world.put('workflows/short/versions/v', { tasks: [pythonTask('a')] })
    await world.put('workflows/short/configurations/c', { data: {} })
    await world.put('workflows/short/stages/prod', { versionId: 'v', configurationId: 'c' })
    expect((await world.send('DELETE', 'workflows/short')).status).toBe(204)
    await world.put('workflows/short', { name: 'w' })
    for (const path of ['versions/v', 'configurations/c', 'stages/prod'])
      expect((await world.send('GET', `workflows/short/${path}`)).status).toBe(404)
  })

  it('is for people and clients of the space', async () => {
    await world.put(at('guarded'), { data: { a: 'b' } })
    for (const [method, path, body] of [
      ['PUT', at('guarded'), { data: {} }],
      ['GET', at('guarded'), undefined],
      ['DELETE', at('guarded'), undefined],
      ['GET', 'workflows/w/configurations', undefined],
    ] as const)
      expect(await statusesOfOthers(world, method, path, body), `${method} ${path}`).toEqual([401, 401, 403])
    expect((await world.send('GET', at('guarded'))).body.data).toEqual({ a: 'b' })
  })
})

it('configurations are listed in the order of creation, whole or in parts, however large they are', async () => {
  await world.put('workflows/listed', { name: 'w' })
  const list = async (query = '') => {
    const { status, body } = await world.send('GET', `workflows/listed/configurations${query}`)
    const ids = body.items?.map(({ configurationId }: { configurationId: string }) => configurationId)
    return [status, ids, body.totalCount]
  }
  expect(await list()).toEqual([200, [], 0])
  const ids = ['z', 'b', 'y', 'a']
  for (const id of ids)
    await world.put(`workflows/listed/configurations/${id}`, { data: { a: 'x'.repeat(100_000) } })
  expect(await list()).toEqual([200, ids, 4])
  expect(await list('?limit=2&page=2')).toEqual([200, ['y', 'a'], 4])
  expect((await list('?limit=0'))[0]).toBe(400)
})
