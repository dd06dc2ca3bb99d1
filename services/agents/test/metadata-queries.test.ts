import { sharedTestPlatform, type TestPlatform } from '@atrium/testing'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Chat, chatIn } from './chat.ts'

let platform: TestPlatform
let chat: Chat
let agentId = ''

/** What each thread's metadata is, by the name that the tests give it. */
const THREADS: Readonly<Record<string, object>> = {
  one: { n: 1, s: 'a', b: true, nil: null },
  text: { n: '1', s: 'A', b: 'true', nil: 'null' },
  float: { n: 1.5, s: '', b: false },
  list: { n: [1], s: ['a', 'b'], tags: ['x', 'y'] },
  nested: { a: { b: { c: 'deep' } }, items: [{ id: 7 }] },
  dotted: { 'a.b.c': 'deep', 'a.b': { c: 'half' } },
  odd: { '': 'empty', "quote'": "o'brien", 'back\\slash': '\\', 'emoji 😀': '😀', '%': '_' },
  empty: {},
}
const names: string[] = []

beforeAll(async () => {
  platform = await sharedTestPlatform()
  const { spaceId, apiKey } = await platform.space()
  chat = chatIn(platform, spaceId, apiKey)
  agentId = await chat.agent()
  for (const [title, metadata] of Object.entries(THREADS)) {
    await chat.thread(agentId, { title, metadata })
    names.push(title)
  }
})

const query = (metadata: unknown) => chat.call('QUERY', `/agent/${agentId}/thread`, { metadata })

describe('a metadata filter', () => {
  it.each<[object, string[]]>([
    [{ n: 1 }, ['one']],
    [{ n: '1' }, ['text']],
    [{ n: 1.0 }, ['one']],
    [{ n: 2 }, []],
    [{ n: 1.5 }, ['float']],
    [{ s: 'a' }, ['one']],
    [{ s: 'A' }, ['text']],
    [{ s: '' }, ['float']],
    [{ b: true }, ['one']],
    [{ b: false }, ['float']],
    [{ b: 'true' }, ['text']],
    [{ nil: null }, ['one']],
    [{ nil: 'null' }, ['text']],
    [{ unknown: null }, []],
    [{ n: [1, '1', 9] }, ['one', 'text']],
    [{ n: [] }, []],
    [{ n: [[1]] }, ['list']],
    [{ nil: [null, 'x'] }, ['one']],
    [{ n: 1, s: 'a' }, ['one']],
    [{ n: 1, s: 'A' }, []],
    [{ n: [1, '1'], s: ['A', 'z'], b: 'true' }, ['text']],
    [{ 'a.b.c': 'deep' }, ['nested', 'dotted']],
    [{ 'a.b.c': ['no', 'deep'] }, ['nested', 'dotted']],
    [{ 'a.b': { c: 'deep' } }, ['nested']],
    [{ a: { b: { c: 'deep' } } }, ['nested']],
    [{ 'items.0.id': 7 }, ['nested']],
    [{ 'a.b.c.d': 'deep' }, []],
    [{ '.': 'x' }, []],
    [{ '': 'empty' }, ['odd']],
    [{ "quote'": "o'brien" }, ['odd']],
    [{ 'back\\slash': '\\' }, ['odd']],
    [{ 'emoji 😀': ['😀'] }, ['odd']],
    [{ '%': '_' }, ['odd']],
    [{ s: '%' }, []],
    [{ "s' OR '1'='1": 'x' }, []],
    [{ s: "a' OR '1'='1" }, []],
    [{ '{a,b}': 1, '"': 1 }, []],
    [{ s: '\ud800' }, []],
  ])('%j finds %j', async (metadata, expected) => {
    const answer = await query(metadata)
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    expect(answer.body.map(({ title }: { title: string }) => title)).toEqual(expected)
  })

  it('that is absent or empty finds all', async () => {
    expect((await query({})).body).toHaveLength(names.length)
    expect((await query(undefined)).body).toHaveLength(names.length)
  })

  it('matches any of very many values', async () => {
    const many = Array.from({ length: 100_000 }, (_, index) => index + 1)
    expect((await query({ n: many })).body).toHaveLength(1)
  })

  it('says where an operator stands', async () => {
    const { status, body } = await query({ 'a.b': { $gt: 0 }, n: { '': 1, x$: 2 } })
    expect([status, body.message]).toEqual([
      400,
      'body.metadata."a.b".$gt must be left out: values are compared as they are, and there are no operators',
    ])
    expect((await query({ n: { '': 1, x$: { $gt: 1 } } })).status).toBe(200)
  })

  it.each([
    ['that is no object', [1]],
    ['that is text', 'n'],
    ['that is null', null],
    ['with an operator', { n: { $gt: 0 } }],
    ['with more than 64 keys', Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`k${i}`, 1]))],
  ])('%s gives 400', async (_what, metadata) => {
    const answer = await query(metadata)
    expect([answer.status, answer.body.code]).toEqual([400, 'INVALID_INPUT'])
    expect(answer.body.message).toContain('body.metadata')
  })

  it('takes 64 keys, and a path of thousands of parts', async () => {
    const keys = Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`k${i}.x`, [i]]))
    expect((await query(keys)).body).toEqual([])
    expect((await query({ [Array(5000).fill('a').join('.')]: 1 })).body).toEqual([])
  })
})
