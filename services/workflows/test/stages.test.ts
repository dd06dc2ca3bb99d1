import { beforeAll, describe, expect, it } from 'vitest'
import { createWorld, pythonTask, statusesOfOthers, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await createWorld()
  for (const w of ['w', 'other']) {
    await world.put(`workflows/${w}`, { name: w })
    for (const v of ['v1', `of-${w}`])
      await world.put(`workflows/${w}/versions/${v}`, { tasks: [pythonTask('a')] })
    for (const c of ['c1', `of-${w}`]) await world.put(`workflows/${w}/configurations/${c}`, { data: {} })
  }
})

const at = (stage: string): string => `workflows/w/stages/${stage}`
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

describe('a stage', () => {
  it('gets a version (201), another one (200), is read, and loses it', async () => {
    const first = await world.send('PUT', at('test'), { body: { versionId: 'v1', configurationId: 'c1' } })
    expect([first.status, first.body]).toEqual([
      201,
      {
        workflowId: 'w',
        stage: 'test',
        versionId: 'v1',
        configurationId: 'c1',
        assignedAt: expect.stringMatching(TIME),
        assignedBy: expect.stringMatching(/^qx-member-/),
      },
    ])
    const second = await world.send('PUT', at('test'), { body: { versionId: 'of-w' } })
    expect([second.status, second.body]).toEqual([
      200,
      { ...first.body, versionId: 'of-w', configurationId: null, assignedAt: expect.stringMatching(TIME) },
    ])
    expect((await world.send('GET', at('test'))).body).toEqual(second.body)
    const third = await world.send('PUT', at('test'), { body: { versionId: 'v1', configurationId: null } })
    expect([third.status, third.body.configurationId]).toEqual([200, null])
    expect((await world.send('DELETE', at('test'))).status).toBe(204)
    for (const method of ['GET', 'DELETE']) {
      const gone = await world.send(method, at('test'))
      expect([gone.status, gone.body]).toEqual([404, { detail: 'Nothing is assigned to the stage test' }])
    }
  })

  it('takes the names of the four stages, and versions and configurations of its own workflow', async () => {
    const put = (stage: string, body: object) => world.send('PUT', at(stage), { body })
    for (const stage of ['dev', 'TEST', 'test%20', 'production'])
      expect((await put(stage, { versionId: 'v1' })).status, stage).toBe(400)
    expect((await put('dev', { versionId: 'v1' })).body.detail).toBe(
      'params.stage must be one of test, int, e2e, prod',
    )
    for (const [body, detail] of [
      [{ versionId: 'none' }, 'Version none not found'],
      [{ versionId: 'of-other' }, 'Version of-other not found'],
      [{ versionId: 'V 1' }, 'Version V 1 not found'],
      [{ versionId: 'v1', configurationId: 'none' }, 'Configuration none not found'],
      [{ versionId: 'v1', configurationId: 'of-other' }, 'Configuration of-other not found'],
    ] as const) {
      const answer = await put('int', body)
      expect([answer.status, answer.body.detail]).toEqual([404, detail])
    }
    for (const body of [
      {},
      { versionId: 5 },
      { versionId: null },
      { versionId: 'v1', configurationId: 5 },
      [],
    ])
      expect((await put('int', body)).status, JSON.stringify(body)).toBe(400)
    expect((await world.send('GET', at('int'))).status).toBe(404)
  })

  it('that is none is not found where it is read or taken away', async () => {
    for (const method of ['GET', 'DELETE']) expect((await world.send(method, at('dev'))).status).toBe(404)
  })

  it('needs its workflow', async () => {
    for (const [method, path] of [
      ['PUT', 'workflows/none/stages/test'],
      ['GET', 'workflows/none/stages/test'],
      ['DELETE', 'workflows/none/stages/test'],
      ['GET', 'workflows/none/stages'],
    ] as const) {
      const body = method === 'PUT' ? { versionId: 'v1' } : undefined
      expect((await world.send(method, path, { body })).status, `${method} ${path}`).toBe(404)
    }
  })

  it('is changed and taken away in a version of it alone, where one is named', async () => {
    const body = { versionId: 'v1' }
    const first = { 'if-match': (await world.put(at('e2e'), body)).headers.get('etag') ?? '' }
    expect((await world.send('PUT', at('e2e'), { body, headers: first })).status).toBe(200)
    expect((await world.send('PUT', at('e2e'), { body, headers: first })).status).toBe(412)
    expect((await world.send('DELETE', at('e2e'), { headers: first })).status).toBe(412)
    expect((await world.send('PUT', at('int'), { body, headers: first })).status).toBe(412)
    expect((await world.send('GET', at('e2e'))).headers.get('etag')).toBe('"2"')
    await world.send('DELETE', at('e2e'))
  })

  it('loses a version that is deleted', async () => {
    await world.put('workflows/w/versions/gone', { tasks: [pythonTask('a')] })
    for (const stage of ['e2e', 'prod'])
      await world.put(at(stage), { versionId: 'gone', configurationId: 'c1' })
    await world.put(at('int'), { versionId: 'v1' })
    expect((await world.send('DELETE', 'workflows/w/versions/gone')).status).toBe(204)
    const { body } = await world.send('GET', 'workflows/w/stages')
    expect(body.items.map(({ stage }: { stage: string }) => stage)).toEqual(['int'])
    await world.send('DELETE', at('int'))
  })

  it('is one, however many assign it at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => world.send('PUT', at('prod'), { body: { versionId: 'v1' } })),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 200, 200, 200, 200, 201])
    await world.send('DELETE', at('prod'))
  })

  it('is for people and clients of the space', async () => {
    await world.put(at('prod'), { versionId: 'v1' })
    for (const [method, path, body] of [
      ['PUT', at('prod'), { versionId: 'of-w' }],
      ['GET', at('prod'), undefined],
      ['DELETE', at('prod'), undefined],
      ['GET', 'workflows/w/stages', undefined],
    ] as const)
      expect(await statusesOfOthers(world, method, path, body), `${method} ${path}`).toEqual([401, 401, 403])
    expect((await world.send('GET', at('prod'))).body.versionId).toBe('v1')
    await world.send('DELETE', at('prod'))
  })
})

it('the stages of a workflow are listed in the order of promotion, whole or in parts', async () => {
  const list = async (query = '') => {
    const { status, body } = await world.send('GET', `workflows/other/stages${query}`)
    return [status, body.items?.map(({ stage }: { stage: string }) => stage), body.totalCount]
  }
  expect(await list()).toEqual([200, [], 0])
  for (const stage of ['prod', 'test', 'e2e', 'int'])
    await world.put(`workflows/other/stages/${stage}`, { versionId: 'v1' })
  expect(await list()).toEqual([200, ['test', 'int', 'e2e', 'prod'], 4])
  expect(await list('?limit=3&page=2')).toEqual([200, ['prod'], 4])
  expect((await list('?page=0'))[0]).toBe(400)
})
