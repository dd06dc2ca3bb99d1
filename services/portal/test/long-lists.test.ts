import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { sharedTestPlatform, type TestPlatform } from '@atrium/testing'
import { beforeAll, expect, test } from 'vitest'

const ROWS = 5000

let platform: TestPlatform
let spaceId = ''
let token = ''
beforeAll(async () => {
  platform = await sharedTestPlatform()
  const space = await platform.space()
  spaceId = space.spaceId
  token = space.ownerToken
  await platform.pool.query(
    `INSERT INTO portal.api_keys (space_id, key_id, name, key_hash, last_four, expires_at, last_used_at,
       created_by_id, created_by_name, modified_by_id, modified_by_name)
     SELECT $1, gen_random_uuid(), 'key ' || n % 100, sha256(n::text::bytea), '0000', now() + interval '1 day',
            CASE WHEN n % 3 = 0 THEN NULL ELSE now() - n % 7 * interval '1 microsecond' END,
            'x', 'X', 'x', 'X'
       FROM generate_series(1, $2) AS n`,
    [spaceId, ROWS],
  )
  await platform.pool.query('ANALYZE portal.api_keys')
})

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** What is really held. */
function heap(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

/** Reads an answer without keeping it: which keys came, and how the heap grew meanwhile. */
async function read(query: string) {
  // Numbers in one block: strings would keep the chunks alive that they were cut from.
  const ids = new BigUint64Array(ROWS + 10)
  let count = 0
  let bytes = 0
  let measuredAt = 0
  let rest = ''
  const before = heap()
  let highest = before
  const response = await fetch(`${platform.url}/portal/v1/spaces/${spaceId}/apikeys${query}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  expect(response.status).toBe(200)
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    rest += decoder.decode(chunk, { stream: true })
    let done = 0
    for (const match of rest.matchAll(/"apiKeyId":"[^"]{19}([^"]{4})-([^"]{12})"/g)) {
      ids[count++] = BigInt(`0x${match[1]}${match[2]}`)
      done = match.index + match[0].length
    }
    rest = rest.slice(done)
    if (bytes < measuredAt + 2_000_000) continue
    measuredAt = bytes
    highest = Math.max(highest, heap())
  }
  const distinct = new Set(ids.subarray(0, count)).size
  return { count, distinct, megabytes: bytes / 1e6, grownBy: (highest - before) / 1e6, end: rest }
}

test.each([
  '',
  '?sortBy=name',
  '?sortBy=name&sortOrder=desc',
  '?sortBy=lastUsedAt',
  '?sortBy=lastUsedAt&sortOrder=desc',
])('5,000 rows stream, each once, with a small heap: %s', async (query) => {
  const { count, distinct, megabytes, grownBy, end } = await read(query)
  expect([count, distinct]).toEqual([ROWS + 1, ROWS + 1])
  expect(megabytes).toBeGreaterThan(2)
  expect(end).toContain(
    `"pagination":{"totalRecords":${ROWS + 1},"currentPage":1,"totalPages":1,"nextPage":null,"prevPage":null}}`,
  )
  expect(grownBy).toBeLessThan(10)
})

test.each(['name', 'lastUsedAt', 'createdAt'])('is in the order of the pages: sortBy=%s', async (field) => {
  const path = (more: string) => `/portal/v1/spaces/${spaceId}/apikeys?sortBy=${field}&sortOrder=desc${more}`
  const all = (await platform.call('GET', path(''), { token })).body.data as { apiKeyId: string }[]
  const parts = []
  for (let page = 1; page <= 3; page++) {
    parts.push(...(await platform.call('GET', path(`&limit=1000&page=${page}`), { token })).body.data)
  }
  expect(all.slice(0, 3000)).toEqual(parts)
})
