import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startTestPlatform, type TestPlatform, type TestSpace } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ScriptedEngine } from './scripted-engine.ts'
import { storesOf, type TestStores } from './support/output.ts'
import { recordRun } from './support/recorded-run.ts'
import { createWorld, pythonTask, type World } from './world.ts'

const LIMIT = 3
let platform: TestPlatform
beforeAll(async () => {
  const kinds = ['', 'VERSIONS_', 'CONFIGURATIONS_', 'SECRETS_', 'TRIGGERS_']
  const env = Object.fromEntries(kinds.map((kind) => [`ATRIUM_WORKFLOWS_${kind}PER_SPACE`, String(LIMIT)]))
  platform = await startTestPlatform({ engine: new ScriptedEngine(), env })
})
afterAll(() => platform.close())

const KINDS = [
  { kind: 'workflows', at: (id: string) => `workflows/${id}`, body: { name: 'W' } },
  {
    kind: 'versions',
    at: (id: string) => `workflows/${id < 'c' ? 'first' : 'second'}/versions/${id}`,
    body: { tasks: [pythonTask('only')] },
  },
  {
    kind: 'configurations',
    at: (id: string) => `workflows/${id < 'c' ? 'first' : 'second'}/configurations/${id}`,
    body: { data: { KEY: 'value' } },
  },
  { kind: 'secrets', at: (id: string) => `secrets/${id.toUpperCase()}`, body: { value: 'xxxx' } },
  {
    kind: 'triggers',
    at: (id: string) => `workflows/${id < 'c' ? 'first' : 'second'}/triggers/${id}`,
    body: { type: 'webhook', stage: 'test' },
  },
]

describe.each(KINDS)('a space that has as many $kind as it may', ({ kind, at, body }) => {
  async function world(): Promise<World> {
    const made = await createWorld(platform)
    if (kind === 'workflows' || kind === 'secrets') return made
    for (const id of ['first', 'second']) await made.put(`workflows/${id}`, { name: id })
    return made
  }
  const put = ({ send, space }: World, id: string) => send('PUT', at(id), { body, token: space.ownerToken })

  it('gets no further one, changes those that are there, and has room when one goes', async () => {
    const own = await world()
    for (const id of ['a', 'b', 'c']) expect((await put(own, id)).status).toBe(201)
    const refused = await put(own, 'd')
    expect([refused.status, refused.body.detail]).toEqual([
      409,
      `The space has ${LIMIT} ${kind}, which is as many as it may have: delete some`,
    ])
    expect((await own.send('GET', at('d'), { token: own.space.ownerToken })).status).toBe(404)
    expect([200, 201]).toContain((await put(own, 'a')).status)
    expect((await put(await world(), 'd')).status).toBe(201)
    expect((await own.send('DELETE', at('a'), { token: own.space.ownerToken })).status).toBe(204)
    expect((await put(own, 'd')).status).toBe(201)
  })

  it('gets no further one of those that are made at once', async () => {
    const own = await world()
    const answers = await Promise.all([...'abcdefgh'].map((id) => put(own, id)))
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array(LIMIT).fill(201), ...Array(8 - LIMIT).fill(409)])
  })
})

it('a space enables so many schedules, and further ones when one is disabled or gone', async () => {
  await using own = await startTestPlatform({
    engine: new ScriptedEngine(),
    env: { ATRIUM_WORKFLOWS_SCHEDULES_PER_SPACE: '2' },
  })
  const world = await createWorld(own)
  await world.put('workflows/w', { name: 'w' })
  await world.put('workflows/w/versions/v', { tasks: [pythonTask('only')] })
  await world.put('workflows/w/configurations/c', { data: {} })
  await world.put('workflows/w/stages/test', { versionId: 'v', configurationId: 'c' })
  const put = async (id: string, enabled = true) => {
    const body = { type: 'schedule', stage: 'test', enabled, config: { schedule: '0 0 1 1 *' } }
    return world.send('PUT', `workflows/w/triggers/${id}`, { body })
  }
  const statuses = async (...answers: ReturnType<typeof put>[]) =>
    (await Promise.all(answers)).map(({ status }) => status).sort()
  expect(await statuses(put('a'), put('b'), put('c'))).toEqual([201, 201, 409])
  expect(await statuses(put('d', false))).toEqual([201])
  const refused = await put('d')
  expect([refused.status, refused.body.detail]).toEqual([
    409,
    'The space has 2 enabled schedules, which is as many as it may have: disable some',
  ])
  expect((await world.send('GET', 'workflows/w/triggers/d')).body.enabled).toBe(false)
  const listed = (await world.send('GET', 'workflows/w/triggers')).body.items
  const enabled = listed.find((one: { enabled: boolean }) => one.enabled).triggerId
  expect(await statuses(put(enabled))).toEqual([200])
  expect(await statuses(put(enabled, false))).toEqual([200])
  expect(await statuses(put('d'))).toEqual([200])
  expect((await put('e')).status).toBe(409)
  expect((await put('e', false)).status).toBe(201)
})

describe('artifacts of a space', () => {
  let stores: TestStores
  let space: TestSpace
  let folder = ''
  beforeAll(async () => {
    stores = storesOf(platform)
    space = await platform.space()
    folder = await mkdtemp(path.join(tmpdir(), 'atrium-quotas-'))
  })
  afterAll(async () => {
    await stores.close()
    await rm(folder, { recursive: true, force: true })
  })

  /** Keeps files of so many bytes, each in a run of its own, at once. @returns why each is not kept */
  async function keep(sizes: readonly number[], name: string, runs: readonly { runId: string }[]) {
    const output = stores.output({ artifactBytesOfSpace: 1000 })
    return Promise.all(
      sizes.map(async (size, at) => {
        const file = path.join(folder, `${name}-${at}`)
        await writeFile(file, Buffer.alloc(size))
        const ref = { spaceId: space.spaceId, runId: runs[at]?.runId ?? '', task: 'a', attempt: 1 }
        return output.keepArtifact(ref, name, file)
      }),
    )
  }

  it('are kept up to its limit, over all its runs, and have room again when some go', async () => {
    const runs = await Promise.all([1, 2, 3, 4].map(() => recordRun(platform, space.spaceId, ['a'])))
    const reasons = await keep([400, 400, 400, 400], 'x', runs)
    const refused = reasons.filter((reason) => reason !== undefined)
    expect(refused).toEqual(
      Array(2).fill('a space keeps 1 MiB at most; there are 1 MiB already, and it has 1 MiB'),
    )
    const full = runs.filter((_run, at) => reasons[at] === undefined)
    expect(await keep([600], 'x', full)).toEqual([undefined])
    expect(await keep([1], 'y', full)).toEqual([expect.stringMatching(/^a space keeps/)])
    const [first] = full
    await platform.pool.query('DELETE FROM workflows.runs WHERE run_id = $1', [first?.runId])
    expect(await keep([600], 'y', full.slice(1))).toEqual([undefined])
    const neighbour = await platform.space()
    const beside = await recordRun(platform, neighbour.spaceId, ['a'])
    await writeFile(path.join(folder, 'beside'), Buffer.alloc(900))
    const output = stores.output({ artifactBytesOfSpace: 1000 })
    const ref = { ...beside, task: 'a', attempt: 1 }
    expect(await output.keepArtifact(ref, 'z', path.join(folder, 'beside'))).toBeUndefined()
  })
})
