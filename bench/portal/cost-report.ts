import { createDatabase, createPool } from '@atrium/kernel/db'
import { createLogger } from '@atrium/kernel/log'
import { spanOf } from '../../services/portal/src/domain/months.ts'
import { sumDailyTotals } from '../../services/portal/src/queries/costs.ts'
import type { PortalTables } from '../../services/portal/src/queries/tables.ts'
import { startPlatform } from './platform.ts'

/** Reports over 1,000,000 entries of one space in 12 months, over HTTP against the report's SQL by pg directly. */
const ENTRIES = 1_000_000
const RUNS = 30

await using platform = await startPlatform()
const { spaceId = '' } = await platform.call('POST', '/v1/spaces', { spaceName: 'bench', appId: 'bench' })
const log = createLogger({ level: 'warn' })
const pool = createPool(platform.databaseUrl, {
  max: 4,
  applicationName: 'bench',
  log,
  statementTimeoutMs: 600_000,
})
const db = createDatabase<PortalTables>(pool)

const month = (back: number): string => {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 7)
}
const [current, completed] = [month(0), month(5)]

// The current month gets its full share of entries, whatever today's date is: 28 days of each of 12 months.
await pool.query(
  `INSERT INTO portal.cost_entries
     (space_id, entry_id, day, service, currency, amount, usage_details, description, created_by_id, created_by_name)
   SELECT $1, gen_random_uuid(),
          (date_trunc('month', now() AT TIME ZONE 'UTC') - make_interval(months => n % 12) + make_interval(days => n / 12 % 28))::date,
          'service-' || n % 20, 'USD', (n % 9973) / 1000.0, '{"hours": 3, "machine": "large"}', 'three hours', 'bench', 'bench'
     FROM generate_series(1, $2::int) n`,
  [spaceId, ENTRIES],
)
await pool.query(`INSERT INTO portal.cost_daily_totals
  SELECT space_id, day, service, currency, sum(amount), count(*) FROM portal.cost_entries GROUP BY 1, 2, 3, 4`)
await pool.query('VACUUM ANALYZE portal.cost_entries, portal.cost_daily_totals')

async function medianMs(run: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let n = 0; n < RUNS + 3; n++) {
    const start = performance.now()
    await run()
    if (n >= 3) times.push(performance.now() - start)
  }
  return times.toSorted((a, b) => a - b)[Math.floor(RUNS / 2)] ?? Number.NaN
}

const rows: string[] = []
for (const [name, of, goal] of [
  ['completed month', completed, 50],
  ['current month', current, 150],
] as const) {
  for (const byDay of [false, true]) {
    const route = `/v1/spaces/${spaceId}/costs/report?month=${of}&includeDetails=${byDay}`
    const http = await medianMs(() => platform.call('GET', route))
    const bare = await medianMs(() => sumDailyTotals(db, { spaceId, ...spanOf(of), byDay }))
    rows.push(
      `| ${name}${byDay ? ', with details' : ''} | ${bare.toFixed(1)} | ${http.toFixed(1)} | ${(http / bare).toFixed(2)} | ${goal} |`,
    )
  }
}
await pool.end()
console.log(
  `| Cost report, ${ENTRIES.toLocaleString('en')} entries in 12 months | bare SQL ms | HTTP ms | ratio | goal ms |`,
)
console.log('|---|---|---|---|---|')
for (const row of rows) console.log(row)
