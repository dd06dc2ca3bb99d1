import { sharedTestPlatform, type TestPlatform } from '@atrium/testing'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Chat, chatIn, messageOf } from './chat.ts'

let platform: TestPlatform
let chat: Chat

beforeAll(async () => {
  platform = await sharedTestPlatform()
  const { spaceId, apiKey } = await platform.space()
  chat = chatIn(platform, spaceId, apiKey)
})

const idOf = (path: string): string => path.split('/').at(-1) ?? ''

interface Listed {
  readonly messageId: string
  readonly metadata: { readonly i: number }
}

const numbersOf = (body: Listed[]): number[] => body.map(({ metadata }) => metadata.i)
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

describe('a thread of 3,000 messages', () => {
  let thread = ''
  const COUNT = 3000

  beforeAll(async () => {
    thread = await chat.thread(await chat.agent())
    await platform.pool.query(
      `INSERT INTO agents.messages (space_id, thread_id, message_id, role, content, metadata, created_at)
       SELECT space_id, thread_id, gen_random_uuid(), CASE WHEN i % 2 = 0 THEN 'user' ELSE 'assistant' END,
              '[{"type": "text", "text": "hi"}]', jsonb_build_object('i', i, 'third', i % 3),
              -- Many share a millisecond.
              '2026-01-01T00:00:00Z'::timestamptz + make_interval(secs => i / 100000.0)
         FROM agents.threads, generate_series(0, ${COUNT - 1}) AS i WHERE thread_id = $1`,
      [idOf(thread)],
    )
  })

  it('is listed whole and in order, in several batches', async () => {
    const { status, body, headers } = await chat.call('GET', `${thread}/message`)
    expect(status).toBe(200)
    expect(headers.get('content-length')).toBeNull()
    expect(numbersOf(body)).toEqual(upTo(COUNT))
  })

  it('is filtered and paged across batches', async () => {
    const even = (await chat.call('GET', `${thread}/message?role=user`)).body as Listed[]
    expect(numbersOf(even)).toEqual(upTo(COUNT).filter((i) => i % 2 === 0))
    const thirds = (await chat.call('QUERY', `${thread}/message`, { metadata: { third: [1, 2] } })).body
    expect(numbersOf(thirds)).toEqual(upTo(COUNT).filter((i) => i % 3 !== 0))
    const page = (await chat.call('GET', `${thread}/message?limit=1000&page=3`)).body
    expect(numbersOf(page)).toEqual(upTo(COUNT).slice(2000))
    const odd = (await chat.call('GET', `${thread}/message?limit=700&page=2&role=assistant`)).body
    expect(numbersOf(odd)).toEqual(
      upTo(COUNT)
        .filter((i) => i % 2 === 1)
        .slice(700, 1400),
    )
  })

  it('loses none of those that are there all the time while others come and go', async () => {
    let isDone = false
    const others = (async () => {
      while (!isDone) await chat.call('DELETE', await chat.message(thread, { metadata: { i: -1 } }))
    })()
    for (let round = 0; round < 5; round++) {
      const numbers = numbersOf((await chat.call('GET', `${thread}/message`)).body)
      expect(numbers.filter((i) => i >= 0)).toEqual(upTo(COUNT))
    }
    isDone = true
    await others
  })
})

describe('a list of huge rows', () => {
  it('is read in batches of bytes, and comes whole', async () => {
    const thread = await chat.thread(await chat.agent())
    const sizes = [10, 900_000, 900_000, 10, 900_000, 5, 900_000, 900_000, 900_000, 7, 3]
    for (const [i, size] of sizes.entries()) {
      const { status } = await chat.call(
        'POST',
        `${thread}/message`,
        messageOf('x'.repeat(size), { metadata: { i } }),
      )
      expect(status).toBe(201)
    }
    for (const [query, expected] of [
      ['', upTo(sizes.length)],
      ['?limit=4', [0, 1, 2, 3]],
      ['?limit=4&page=2', [4, 5, 6, 7]],
      ['?limit=4&page=3', [8, 9, 10]],
    ] as const) {
      const { body } = await chat.call('GET', `${thread}/message${query}`)
      expect(numbersOf(body)).toEqual(expected)
      expect(body.map(({ content }: { content: { text: string }[] }) => content[0]?.text.length)).toEqual(
        expected.map((i) => sizes[i]),
      )
    }
  })
})

describe('1,200 agents', () => {
  const COUNT = 1200

  beforeAll(async () => {
    const agentId = await chat.agent()
    await platform.pool.query(
      `INSERT INTO agents.agents (space_id, agent_id, name, instructions, description, model, provider, output_format,
         metadata, created_by, created_at)
       SELECT space_id, gen_random_uuid(), 'listed ' || i % 10, '', '', model, provider, output_format,
              jsonb_build_object('i', i), created_by, now() + make_interval(secs => i)
         FROM agents.agents, generate_series(0, ${COUNT - 1}) AS i WHERE agent_id = $1`,
      [agentId],
    )
  })

  const call = async (method: string, query: string, body?: unknown) =>
    (await chat.call(method, `/agent?${query}`, body)).body

  it('are listed whole, sorted either way without loss among equals', async () => {
    expect(numbersOf(await call('GET', 'search=listed'))).toEqual(upTo(COUNT))
    expect(numbersOf(await call('GET', 'search=listed&sortOrder=desc'))).toEqual(upTo(COUNT).reverse())
    for (const order of ['asc', 'desc']) {
      const agents = (await call('GET', `search=listed&sortBy=name&sortOrder=${order}`)) as (Listed & {
        name: string
      })[]
      const sorted = agents.map(({ name }) => name)
      expect(sorted).toEqual(order === 'asc' ? [...sorted].sort() : [...sorted].sort().reverse())
      expect(numbersOf(agents).sort((a, b) => a - b)).toEqual(upTo(COUNT))
    }
  })

  it('are queried whole, with their number', async () => {
    const { data, pagination } = await call('QUERY', '', { metadata: { i: upTo(COUNT).slice(100) } })
    expect(numbersOf(data)).toEqual(upTo(COUNT).slice(100))
    expect(pagination).toEqual({
      totalRecords: 1100,
      currentPage: 1,
      totalPages: 1,
      nextPage: null,
      prevPage: null,
    })
    const page = await call('QUERY', 'limit=1000&page=2', { metadata: { i: upTo(COUNT).slice(100) } })
    expect(numbersOf(page.data)).toEqual(upTo(COUNT).slice(1100))
    expect(page.pagination).toMatchObject({ totalRecords: 1100, totalPages: 2, nextPage: null, prevPage: 1 })
  })
})
