import { connect, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'

const ROWS = 6000
const READERS = 40

let platform: TestPlatform
let spaceId = ''
beforeAll(async () => {
  platform = await startTestPlatform()
  spaceId = (await platform.space()).spaceId
  // As 6,000 changes of descriptions of 4,000 characters leave them: 48 MB.
  await platform.pool.query(
    `INSERT INTO portal.audit_entries (entry_id, actor_kind, actor_id, actor_name, operation, space_id, resource_type,
       resource_id, before, after, address, request_id, user_agent)
     SELECT gen_random_uuid(), 'user', 'x', 'X', 'updateSpace', $1::uuid, 'space', $1::uuid::text, image, image, '', '', ''
       FROM generate_series(1, $2::int) AS n,
            LATERAL (SELECT jsonb_build_object('description', (SELECT string_agg(md5(n::text || m), '')
                       FROM generate_series(1, 125) AS m)) AS image) AS made`,
    [spaceId, ROWS],
  )
  await platform.pool.query('ANALYZE portal.audit_entries')
})
afterAll(() => platform.close())

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Megabytes that are really held. */
function held(): number {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 1e6
}

/** Sends a request and takes nothing of the answer. */
function ask(path: string): Promise<Socket> {
  const { hostname, port } = new URL(platform.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.pause()
  return new Promise((resolve) => {
    const lines = [
      `GET ${path} HTTP/1.1`,
      'host: x',
      `authorization: Bearer ${platform.superuser.token}`,
      '',
      '',
    ]
    socket.write(lines.join('\r\n'), () => resolve(socket))
  })
}

/** Statements of the lists that have run so far. */
async function statements(): Promise<number> {
  const { rows } = await platform.pool.query<{ scans: string }>(
    `SELECT seq_scan + idx_scan AS scans FROM pg_stat_user_tables WHERE relname = 'audit_entries'`,
  )
  return Number(rows[0]?.scans)
}

async function settled(): Promise<number> {
  let before = -1
  await expect
    .poll(
      async () => {
        const now = await statements()
        const isSame = now === before
        before = now
        return isSame
      },
      { timeout: 60_000, interval: 2000 },
    )
    .toBe(true)
  return before
}

test.each([
  ['whole lists', ''],
  ['pages of 1,000', '?limit=1000'],
])('%s of long rows that nobody reads hold little, and others are served', async (_name, query) => {
  const before = held()
  const sockets: Socket[] = []
  for (let reader = 0; reader < READERS; reader++) {
    const path = reader % 2 === 0 ? `/portal/v1/spaces/${spaceId}/audit` : '/portal/v1/admin/audit'
    sockets.push(await ask(`${path}${query}`))
  }
  await settled()
  const neighbour = await platform.space()
  const answer = await platform.call('GET', `/portal/v1/spaces/${neighbour.spaceId}`, {
    token: neighbour.ownerToken,
  })
  expect(answer.status).toBe(200)
  // A batch each would be 5 MB; whole lists were 1,200.
  expect(held() - before).toBeLessThan(60)
  for (const socket of sockets) socket.destroy()
})

test('such a list is all there for who reads it', async () => {
  const { body } = await platform.call('GET', `/portal/v1/spaces/${spaceId}/audit`, {
    token: platform.superuser.token,
  })
  expect(new Set(body.data.map((entry: { auditId: string }) => entry.auditId)).size).toBe(body.data.length)
  expect(body.data.length).toBe(body.pagination.totalRecords)
  expect(body.data.length).toBeGreaterThan(ROWS)
  const page = await platform.call('GET', `/portal/v1/spaces/${spaceId}/audit?limit=1000&page=2`, {
    token: platform.superuser.token,
  })
  expect(page.body.data).toEqual(body.data.slice(1000, 2000))
})
