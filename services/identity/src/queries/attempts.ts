import { hash } from 'node:crypto'
import { sql } from '@atrium/kernel/db'
import type { IdentityDatabase } from './tables.ts'

/** A bucket of attempts: `burst` at once, then one each `everySeconds`. */
export interface AttemptLimit {
  readonly key: string
  readonly burst: number
  readonly everySeconds: number
}

const bucketOf = ({ key }: AttemptLimit): Buffer => hash('sha256', key, 'buffer')

/** Seconds that a full bucket may hold before one more attempt. */
const roomOf = ({ burst, everySeconds }: AttemptLimit): number => (burst - 1) * everySeconds

const poured = (limit: AttemptLimit, onlyIf: ReturnType<typeof sql>) => sql`
  insert into identity.attempts as a (bucket, empty_at)
  select ${bucketOf(limit)}, clock_timestamp() + make_interval(secs => ${limit.everySeconds}::float8) where ${onlyIf}
  on conflict (bucket) do update
    set empty_at = greatest(a.empty_at, clock_timestamp()) + make_interval(secs => ${limit.everySeconds}::float8)
    where a.empty_at <= clock_timestamp() + make_interval(secs => ${roomOf(limit)}::float8)
  returning 1`

/** Seconds until there is room; null where nothing is known of the bucket. */
const waitOf = (limit: AttemptLimit) => sql<number | null>`(
  select extract(epoch from empty_at - clock_timestamp())::float8 - ${roomOf(limit)}::float8
  from identity.attempts where bucket = ${bucketOf(limit)})`

/**
 * Counts one attempt in each bucket, in one statement: of any number at the same moment, in any process, no more pass
 * than there is room for. Where the first bucket is full, the second is left alone.
 * @returns seconds to wait; 0 when it was counted
 */
export async function takeAttempt(
  db: IdentityDatabase,
  first: AttemptLimit,
  second?: AttemptLimit,
): Promise<number> {
  const other = second ?? first
  const { rows } = await sql<{ inFirst: boolean; inSecond: boolean; first: number; second: number }>`
    with first as (${poured(first, sql`true`)}),
      second as (${poured(
        { ...other, key: second === undefined ? '' : other.key },
        second === undefined ? sql`false` : sql`exists (select from first)`,
      )})
    select exists (select from first) as "inFirst", exists (select from second) as "inSecond",
      ${waitOf(first)} as first, ${waitOf(other)} as second`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('counting an attempt answered no row')
  const waitIn = (wait: number | null, { everySeconds }: AttemptLimit) => Math.max(1, wait ?? everySeconds)
  if (!row.inFirst) return waitIn(row.first, first)
  if (second !== undefined && !row.inSecond) return waitIn(row.second, second)
  return 0
}

/** Seconds until an attempt would pass; 0 when it would now. */
export async function readWait(db: IdentityDatabase, limit: AttemptLimit): Promise<number> {
  const { rows } = await sql<{ wait: number | null }>`select ${waitOf(limit)} as wait`.execute(db)
  return Math.max(0, rows[0]?.wait ?? 0)
}

/** Takes an attempt back that was counted before its outcome was known. */
export async function returnAttempt(db: IdentityDatabase, limits: readonly AttemptLimit[]): Promise<void> {
  for (const limit of limits) {
    await sql`update identity.attempts
      set empty_at = empty_at - make_interval(secs => ${limit.everySeconds}::float8)
      where bucket = ${bucketOf(limit)}`.execute(db)
  }
}

/** Rows that one statement deletes at most. */
const DELETED_AT_ONCE = 10_000

export async function deleteEmptyBuckets(db: IdentityDatabase): Promise<void> {
  await sql`
    delete from identity.attempts where bucket = any (array(
      select bucket from identity.attempts where empty_at < clock_timestamp()
      limit ${DELETED_AT_ONCE} for update skip locked
    ))`.execute(db)
}
