import { beforeAll, expect, it } from 'vitest'
import { createWorld, pythonTask, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await createWorld()
  await world.put('workflows/w', { name: 'w' })
  await world.put('workflows/w/versions/v', { tasks: [pythonTask('a')] })
})

it.each([
  ['workflows/new', { name: 'n' }],
  ['workflows/w/versions/new', { tasks: [pythonTask('a')] }],
  ['workflows/w/configurations/new', { data: {} }],
  ['workflows/w/stages/int', { versionId: 'v' }],
  ['workflows/w/triggers/new', { type: 'webhook', stage: 'test' }],
  ['secrets/NEW', { value: 'secret' }],
])('If-Match: * changes %s, and does not make it', async (path, body) => {
  const put = (headers?: Record<string, string>) =>
    world.send('PUT', path, {
      body,
      token: world.space.ownerToken,
      ...(headers === undefined ? {} : { headers }),
    })
  const any = { 'if-match': '*' }
  expect((await put(any)).status).toBe(412)
  expect((await world.send('GET', path)).status).toBe(404)
  expect((await put()).status).toBe(201)
  expect([200, 201]).toContain((await put(any)).status)
  expect((await put({ 'if-match': '"1"' })).status).toBe(412)
  expect([200, 201]).toContain((await put(any)).status)
})

it('If-Match: * below a workflow that is not there says that', async () => {
  for (const [path, body] of [
    ['versions/v', { tasks: [pythonTask('a')] }],
    ['configurations/c', { data: {} }],
    ['stages/test', { versionId: 'v' }],
    ['triggers/t', { type: 'webhook', stage: 'test' }],
  ] as const) {
    const answer = await world.send('PUT', `workflows/none/${path}`, { body, headers: { 'if-match': '*' } })
    expect([answer.status, answer.body], path).toEqual([404, { detail: 'Workflow none not found' }])
  }
})
