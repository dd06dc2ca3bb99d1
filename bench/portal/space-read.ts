import { createPool } from '@atrium/kernel/db'
import { createLogger } from '@atrium/kernel/log'
import autocannon from 'autocannon'
import { selectSpaceDetail } from '../../services/portal/src/queries/spaces.ts'
import { startPlatform } from './platform.ts'

/**
 * `GET /v1/spaces/{id}` over HTTP against the query that it makes, by pg directly. Both with the database
 * beside them, in turns, so that the machine is the same for both. Over HTTP 32 connections share the
 * server's pool; pg is measured with 32 connections and with 10, which suit two cores better, and the
 * better one counts.
 */
const CONNECTIONS = 32
const SECONDS = 6
const ROUNDS = 3

await using platform = await startPlatform()
const { spaceId = '' } = await platform.call('POST', '/v1/spaces', { spaceName: 'bench', appId: 'bench' })
for (let n = 0; n < 50; n++) {
  const qNumber = n === 0 ? 'bench' : `qx-${n}`
  const body = {
    qNumber,
    name: qNumber,
    mailAddress: `${qNumber}@x.test`,
    role: n === 0 ? 'owner' : 'member',
  }
  await platform.call('POST', `/v1/spaces/${spaceId}/users`, body)
  if (n < 10) await platform.call('POST', `/v1/spaces/${spaceId}/apikeys`, { name: `key ${n}` })
}

const pool = createPool(platform.databaseUrl, {
  max: CONNECTIONS,
  applicationName: 'bench',
  log: createLogger({ level: 'warn' }),
})

async function direct(connections: number): Promise<number> {
  const until = performance.now() + SECONDS * 1000
  let done = 0
  const caller = { kind: 'user', qxId: 'bench', name: 'bench' } as const
  const loop = async () => {
    while (performance.now() < until) {
      await selectSpaceDetail(pool, spaceId, caller)
      done++
    }
  }
  await Promise.all(Array.from({ length: connections }, loop))
  return done / SECONDS
}

async function http() {
  const result = await autocannon({
    url: `${platform.url}/portal/v1/spaces/${spaceId}`,
    connections: CONNECTIONS,
    duration: SECONDS,
    headers: { authorization: `Bearer ${platform.token}` },
  })
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} answers were not 200`)
  return { perSecond: result['2xx'] / result.duration, p50: result.latency.p50, p99: result.latency.p99 }
}

const best = (numbers: number[]): number => Math.max(...numbers)
await direct(CONNECTIONS)
await http()
const directRuns: number[] = []
const httpRuns: Awaited<ReturnType<typeof http>>[] = []
for (let round = 0; round < ROUNDS; round++) {
  for (const connections of [10, CONNECTIONS]) directRuns.push(await direct(connections))
  httpRuns.push(await http())
}
await pool.end()

const [pg, served] = [best(directRuns), best(httpRuns.map((run) => run.perSecond))]
const { p50, p99 } = httpRuns.find((run) => run.perSecond === served) ?? { p50: 0, p99: 0 }
console.log('| Space read, 32 connections | requests/s | p50 ms | p99 ms |')
console.log('|---|---|---|---|')
console.log(`| the query by pg directly | ${pg.toFixed(0)} | | |`)
console.log(`| GET /v1/spaces/{id} over HTTP | ${served.toFixed(0)} | ${p50} | ${p99} |`)
console.log(`| ratio (goal 0.5) | ${(served / pg).toFixed(2)} | | |`)
