import { beforeAll, describe, expect, it } from 'vitest'
import { createWorld, pythonTask, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await createWorld()
  await world.put('workflows/w', { name: 'w' })
  await world.put('workflows/w/versions/v', { tasks: [pythonTask('a')] })
})

const withArgs = (text: string) =>
  JSON.stringify({ tasks: [{ ...pythonTask('a'), arguments: { script: 'main.py', args: 'TEXT' } }] }).replace(
    'TEXT',
    text,
  )

/** Every operation whose body holds texts that are kept. */
const bodies = (text: string): [string, string, string][] => [
  ['PUT', 'workflows/w', `{"name": "${text}"}`],
  ['PUT', 'workflows/w/versions/bad', withArgs(text)],
  ['PUT', 'workflows/w/configurations/bad', `{"data": {"a": "${text}"}}`],
  ['POST', 'workflows/w/runs?stage=test&versionId=v', `{"configuration": {"a": "${text}"}}`],
  ['PUT', 'secrets/BAD', `{"value": "${text}"}`],
]

describe('text that is none is refused in every body:', () => {
  it.each([
    ['half of a surrogate pair', '\\ud800', 'half of a surrogate pair'],
    ['its other half', 'a\\udc00b', 'half of a surrogate pair'],
    ['NUL', '\\u0000', 'NUL'],
  ])('%s', async (_what, text, reason) => {
    for (const [method, path, body] of bodies(text)) {
      const answer = await world.send(method, path, { body, token: world.space.ownerToken })
      expect([answer.status, answer.body.detail], `${method} ${path}`).toEqual([
        400,
        expect.stringContaining(reason),
      ])
    }
  })

  it('bytes that are no UTF-8', async () => {
    for (const [method, path, body] of bodies('BYTES')) {
      const [head = '', tail = ''] = body.split('BYTES')
      const answer = await fetch(`${world.platform.url}/workflows/v1/spaces/${world.space.spaceId}/${path}`, {
        method,
        headers: {
          authorization: `Bearer ${world.space.ownerToken}`,
          'content-type': 'application/json',
        },
        body: Buffer.concat([Buffer.from(head), Buffer.from([0xff, 0xfe]), Buffer.from(tail)]),
      })
      expect([answer.status, await answer.json()], `${method} ${path}`).toEqual([
        400,
        { detail: 'The body is not valid JSON: it is no UTF-8' },
      ])
    }
  })

  it('keys that would set a prototype, instead of losing them', async () => {
    const data = '{"__proto__": "x", "constructor": "y"}'
    for (const [method, path, body] of [
      ['PUT', 'workflows/w/configurations/bad', `{"data": ${data}}`],
      ['POST', 'workflows/w/runs?stage=test&versionId=v', `{"configuration": ${data}}`],
    ] as const)
      expect(await world.send(method, path, { body })).toMatchObject({
        status: 400,
        body: { detail: expect.stringContaining('__proto__ is a name that is kept for prototypes') },
      })
  })
})
