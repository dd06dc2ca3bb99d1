import { beforeAll, describe, expect, it } from 'vitest'
import { createWorld, endRuns, insertRun, pythonTask, statusesOfOthers, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await createWorld()
  await world.put('workflows/w', { name: 'w' })
})

const at = (versionId: string): string => `workflows/w/versions/${versionId}`
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const tasks = [
  {
    name: 'fetch',
    templateRef: { name: 'fetch-git-code', version: 'v1.1' },
    arguments: { repository: 'https://git.example/${config.REPO}.git', token: '${secret.TOKEN}', depth: '1' },
    dependencies: [],
  },
  pythonTask('train', 'fetch'),
]

describe('a version', () => {
  it('is made by PUT, replaced by the same, read and deleted', async () => {
    const made = await world.send('PUT', at('first'), { body: { tasks } })
    expect([made.status, made.body]).toEqual([
      201,
      {
        workflowId: 'w',
        versionId: 'first',
        tasks,
        createdAt: expect.stringMatching(TIME),
        updatedAt: expect.stringMatching(TIME),
      },
    ])
    // The client's own order of arguments.
    expect(Object.keys(made.body.tasks[0].arguments)).toEqual(['repository', 'token', 'depth'])
    const replaced = await world.send('PUT', at('first'), { body: { tasks: [pythonTask('only')] } })
    expect([replaced.status, replaced.body.tasks]).toEqual([201, [pythonTask('only')]])
    expect((await world.send('GET', at('first'))).body).toEqual(replaced.body)
    expect((await world.send('DELETE', at('first'))).status).toBe(204)
    for (const method of ['GET', 'DELETE']) {
      const gone = await world.send(method, at('first'))
      expect([gone.status, gone.body]).toEqual([404, { detail: 'Version first not found' }])
    }
  })

  it('takes what was left out as empty', async () => {
    const { templateRef } = pythonTask('x')
    const body = { tasks: [{ name: 'a', templateRef, arguments: { script: 's.py' } }] }
    expect((await world.send('PUT', at('short'), { body })).body.tasks).toEqual([
      { ...body.tasks[0], dependencies: [] },
    ])
  })

  it('needs its workflow', async () => {
    for (const [method, path, body] of [
      ['PUT', 'workflows/none/versions/a', { tasks }],
      ['PUT', 'workflows/None_/versions/a', { tasks }],
      ['GET', 'workflows/none/versions/a', undefined],
      ['DELETE', 'workflows/none/versions/a', undefined],
      ['GET', 'workflows/none/versions', undefined],
      ['POST', 'workflows/None_/versions:validate', { tasks }],
    ] as const)
      expect((await world.send(method, path, { body })).status, `${method} ${path}`).toBe(404)
  })

  it('can be checked before its workflow is there', async () => {
    const answer = await world.send('POST', 'workflows/none/versions:validate', { body: { tasks } })
    expect(answer).toMatchObject({ status: 200, body: { valid: true, errors: [] } })
    expect((await world.send('GET', 'workflows/none')).status).toBe(404)
  })

  it('is refused for the same as validation tells, whatever is sent as tasks', async () => {
    const [good] = tasks
    const wrong = [
      { ...pythonTask('a'), arguments: { script: 'a.py', args: 1 } },
      { ...pythonTask('b'), templateRef: { name: 'nope', version: 'v1' } },
      { ...pythonTask('a'), templateRef: { name: 'run-python-code', version: '1' } },
      { ...pythonTask('c'), templateRef: { name: 'run-python-code', version: 1 } },
      { ...pythonTask('d'), dependencies: 'a' },
      { ...pythonTask('e'), templateRef: undefined, name: undefined },
      { ...good, arguments: [] },
      5,
    ]
    const { body } = await world.send('POST', 'workflows/w/versions:validate', { body: { tasks: wrong } })
    expect(body.errors.length).toBeGreaterThan(8)
    const answer = await world.send('PUT', at('wrong'), { body: { tasks: wrong } })
    expect([answer.status, answer.body.detail]).toEqual([
      400,
      `body.tasks are not valid: ${body.errors.join('; ')}`,
    ])
    for (const none of [{}, { tasks: null }, { tasks: { a: 1 } }, []])
      expect((await world.send('PUT', at('wrong'), { body: none })).status).toBe(400)
    expect((await world.send('GET', at('wrong'))).status).toBe(404)
  })

  it('is refused with every fault, and nothing is kept', async () => {
    const wrong = [
      { ...pythonTask('a'), templateRef: { name: 'run-python-code', version: '1.2.3' } },
      pythonTask('b', 'b'),
    ]
    const answer = await world.send('PUT', at('wrong'), { body: { tasks: wrong } })
    expect(answer.status).toBe(400)
    expect(answer.body.detail).toMatch(
      /^body\.tasks are not valid: task "a": .*1\.2\.3.*; task "b": depends on itself$/,
    )
    expect((await world.send('GET', at('wrong'))).status).toBe(404)
    for (const id of ['A', 'v1.0', '-', 'a'.repeat(64)])
      expect((await world.send('PUT', at(id), { body: { tasks } })).status, id).toBe(400)
    for (const body of [{}, { tasks: {} }, { tasks: 'a' }, [], { tasks: [5] }, { tasks: [{ name: 5 }] }])
      expect((await world.send('PUT', at('form'), { body })).status, JSON.stringify(body)).toBe(400)
  })

  it('is changed and deleted in a version of its row alone, where one is named', async () => {
    const first = { 'if-match': (await world.put(at('tagged'), { tasks })).headers.get('etag') ?? '' }
    expect(first).toEqual({ 'if-match': '"1"' })
    const body = { tasks: [pythonTask('other')] }
    expect((await world.send('PUT', at('tagged'), { body, headers: first })).headers.get('etag')).toBe('"2"')
    expect((await world.send('PUT', at('tagged'), { body, headers: first })).status).toBe(412)
    expect((await world.send('DELETE', at('tagged'), { headers: first })).status).toBe(412)
    expect((await world.send('PUT', at('nothing'), { body, headers: first })).status).toBe(412)
    expect((await world.send('GET', at('tagged'))).headers.get('etag')).toBe('"2"')
  })

  it('is neither replaced nor deleted while runs of it have not ended; the same may be put again', async () => {
    await world.put('workflows/busy', { name: 'busy' })
    await world.put('workflows/busy/versions/used', { tasks })
    await world.put('workflows/busy/versions/free', { tasks })
    await insertRun(world, 'busy', 'used', 'Succeeded')
    await insertRun(world, 'busy', 'used', 'Pending')
    const body = { tasks: [pythonTask('other')] }
    const used = 'workflows/busy/versions/used'
    for (const refused of [await world.send('PUT', used, { body }), await world.send('DELETE', used)])
      expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining('not ended')])
    expect((await world.send('PUT', used, { body: { tasks } })).status).toBe(201)
    expect((await world.send('PUT', 'workflows/busy/versions/free', { body })).status).toBe(201)
    expect((await world.send('DELETE', 'workflows/busy/versions/free')).status).toBe(204)
    expect((await world.send('DELETE', 'workflows/busy')).status).toBe(409)
    await endRuns(world, 'busy')
    expect((await world.send('PUT', used, { body })).status).toBe(201)
    expect((await world.send('DELETE', used)).status).toBe(204)
    expect((await world.send('DELETE', 'workflows/busy')).status).toBe(204)
  })

  it('is one, however many put it at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        world.send('PUT', at('at-once'), { body: { tasks: [pythonTask(`t${n}`)] } }),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(201))
    expect((await world.send('GET', at('at-once'))).headers.get('etag')).toBe('"8"')
  })

  it('is for people and clients of the space', async () => {
    await world.put(at('guarded'), { tasks })
    for (const [method, path, body] of [
      ['PUT', at('guarded'), { tasks: [pythonTask('taken')] }],
      ['GET', at('guarded'), undefined],
      ['DELETE', at('guarded'), undefined],
      ['GET', 'workflows/w/versions', undefined],
      ['POST', 'workflows/w/versions:validate', { tasks }],
    ] as const)
      expect(await statusesOfOthers(world, method, path, body), `${method} ${path}`).toEqual([401, 401, 403])
    expect((await world.send('GET', at('guarded'))).body.tasks).toEqual(tasks)
  })
})

describe('the list of versions', () => {
  const page = async (list: World, query: string) => {
    const { status, body } = await list.send('GET', `workflows/w/versions${query}`)
    expect(status).toBe(200)
    const ids = body.versions.map(({ versionId }: { versionId: string }) => versionId) as string[]
    return { ids, token: body.nextPageToken as string, total: body.totalSize as number }
  }

  it('comes in pages, in the order of creation, whatever is made or deleted meanwhile', async () => {
    const own = await createWorld()
    await own.put('workflows/w', { name: 'w' })
    expect(await page(own, '')).toEqual({ ids: [], token: '', total: 0 })
    for (let n = 1; n <= 25; n++) await own.put(`workflows/w/versions/n${n}`, { tasks })
    const first = await page(own, '')
    expect([first.ids.length, first.ids[0], first.total]).toEqual([20, 'n1', 25])
    const [one, two] = [await page(own, '?pageSize=10'), await page(own, '?pageSize=10&pageToken=')]
    expect(one.ids).toEqual(two.ids)
    await own.send('DELETE', 'workflows/w/versions/n10')
    await own.put('workflows/w/versions/late', { tasks })
    const second = await page(own, `?pageSize=10&pageToken=${one.token}`)
    expect(second.ids).toEqual(Array.from({ length: 10 }, (_, n) => `n${n + 11}`))
    const third = await page(own, `?pageSize=6&pageToken=${second.token}`)
    expect(third).toEqual({ ids: ['n21', 'n22', 'n23', 'n24', 'n25', 'late'], token: '', total: 25 })
  })

  it('comes whole also where a page is longer than what is read at a time', async () => {
    const own = await createWorld()
    await own.put('workflows/w', { name: 'w' })
    const args = 'x'.repeat(60_000)
    for (let n = 1; n <= 7; n++) {
      const { arguments: given, ...task } = pythonTask('t')
      await own.put(`workflows/w/versions/n${n}`, { tasks: [{ ...task, arguments: { ...given, args } }] })
    }
    expect((await page(own, '?pageSize=6')).ids).toEqual(['n1', 'n2', 'n3', 'n4', 'n5', 'n6'])
  })

  it('refuses page sizes and tokens that are none of its own', async () => {
    const [one, other] = [await createWorld(), await createWorld()]
    for (const each of [one, other]) {
      for (const id of ['w', 'x']) {
        await each.put(`workflows/${id}`, { name: 'w' })
        for (const version of ['a', 'b']) await each.put(`workflows/${id}/versions/${version}`, { tasks })
      }
    }
    const { token } = await page(one, '?pageSize=1')
    const status = async (each: World, query: string, id = 'w') =>
      (await each.send('GET', `workflows/${id}/versions?${query}`)).status
    expect(await status(one, `pageToken=${token}`)).toBe(200)
    expect(await status(one, `pageToken=${token}`, 'x')).toBe(400)
    expect(await status(other, `pageToken=${token}`)).toBe(400)
    const flipped = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`
    for (const bad of [
      flipped,
      `${token}=`,
      `${token}A`,
      'a',
      '%00',
      'AAAA',
      token.slice(0, 20),
      'x'.repeat(1001),
    ])
      expect(await status(one, `pageToken=${bad}`), bad).toBe(400)
    for (const bad of ['0', '101', '-1', 'x', '1.5', ''])
      expect(await status(one, `pageSize=${bad}`), bad).toBe(400)
  })
})

describe('GET /v1/task-templates', () => {
  it('lists every release with its arguments and what floats to it, for any token', async () => {
    const stranger = (await world.platform.space()).ownerToken
    const list = (token: string) => world.platform.call('GET', '/workflows/v1/task-templates', { token })
    const { status, body } = await list(stranger)
    expect([status, body.totalCount]).toEqual([200, body.items.length])
    const found = body.items.map(
      ({ name, version, aliases }: { name: string; version: string; aliases: string[] }) =>
        `${name} ${version} ${aliases.join(' ')}`.trim(),
    )
    expect(found).toEqual([
      'fetch-git-code v1.1.0 v1 v1.1',
      'fetch-git-code v1.0.0 v1.0',
      'run-python-code v1.1.0 v1 v1.1',
      'run-python-code v1.0.0 v1.0',
      'fetch-git-code-atc v1.0.0 v1 v1.0',
      'submit-ray-job v1.0.0 v1 v1.0',
    ])
    expect(body.items[0].arguments).toContainEqual({
      name: 'token',
      required: false,
      description: expect.any(String),
      secrets: 'only',
    })
    expect((await world.platform.call('GET', '/workflows/v1/task-templates', {})).status).toBe(401)
    const token = world.space.memberToken
    const part = await world.platform.call('GET', '/workflows/v1/task-templates?limit=1&page=2', { token })
    const whole = await world.platform.call('GET', '/workflows/v1/task-templates', { token })
    expect(part.body).toEqual({ items: [whole.body.items[1]], totalCount: whole.body.items.length })
    const wrong = await world.platform.call('GET', '/workflows/v1/task-templates?limit=0', { token })
    expect([wrong.status, wrong.body.detail]).toEqual([400, 'query.limit must be 1 or more'])
    expect((await list(world.space.apiKey)).status).toBe(401)
    expect((await list(world.platform.superuserClient.token)).status).toBe(200)
  })
})
