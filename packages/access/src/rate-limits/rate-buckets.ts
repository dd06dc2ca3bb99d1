import { type Kysely, sql } from '@atrium/kernel/db'

export interface LeaseRequest {
  readonly service: string
  /** Whose bucket of the service. */
  readonly holder: string
  readonly burst: number
  readonly perSecond: number
  /** Tokens wanted; fewer come when the bucket runs low, so that the last ones go one by one. */
  readonly want: number
  /** Of leases that ended: tokens that were leased, and those of them that were not used. */
  readonly settled: number
  readonly returned: number
}

export interface Lease {
  readonly granted: number
  /** What is left in the bucket. */
  readonly tokens: number
}

/** After so long without any lease, what dead processes still hold is forgotten. */
const FORGET_SECONDS = 5

/** Rows that one statement deletes at most. */
const DELETED_AT_ONCE = 10_000

/** A bucket gives at most a quarter of what it has, but one at least. */
const shareOf = (tokens: number): number => (tokens < 1 ? 0 : Math.max(1, Math.floor(tokens / 4)))

/**
 * Refills the holder's bucket for the time that passed, takes back what was not used, and leases from it, in
 * one statement. Free and leased tokens together never exceed the burst.
 */
export async function leaseTokens(db: Kysely<unknown>, request: LeaseRequest): Promise<Lease> {
  const { service, holder, burst, perSecond, want, settled, returned } = request
  const first = Math.min(want, shareOf(burst))
  const fullAfter = burst / perSecond + FORGET_SECONDS
  const { rows } = await sql<Lease>`
    INSERT INTO access.rate_buckets AS b (service, holder, tokens, leased, granted, touched_at, full_at)
    VALUES (${service}, ${holder}, ${burst - first}, ${first}, ${first}, clock_timestamp(),
      clock_timestamp() + make_interval(secs => ${fullAfter}::float8))
    ON CONFLICT (service, holder) DO UPDATE SET (tokens, leased, granted, touched_at, full_at) = (
      SELECT free.tokens - share.granted, free.leased + share.granted, share.granted, now.at,
        now.at + make_interval(secs => ${fullAfter}::float8)
      FROM (SELECT greatest(b.touched_at, clock_timestamp()) AS at) AS now,
        LATERAL (SELECT extract(epoch FROM now.at - b.touched_at)::float8 AS seconds) AS age,
        LATERAL (
          SELECT CASE WHEN age.seconds > ${FORGET_SECONDS} THEN 0
            ELSE greatest(0, b.leased - ${settled}::float8) END AS leased
        ) AS held,
        LATERAL (
          SELECT held.leased, greatest(0, least(${burst}::float8 - held.leased,
            b.tokens + ${returned}::float8 + age.seconds * ${perSecond}::float8)) AS tokens
        ) AS free,
        LATERAL (
          SELECT CASE WHEN free.tokens < 1 THEN 0
            ELSE least(${want}::float8, greatest(1, floor(free.tokens / 4))) END AS granted
        ) AS share
    )
    RETURNING granted, tokens`.execute(db)
  const lease = rows[0]
  if (lease === undefined) throw new Error(`no bucket for ${holder}`)
  return lease
}

/** Deletes buckets that are full again: one that is not there says the same. */
export async function deleteFullBuckets(db: Kysely<unknown>): Promise<void> {
  await sql`
    DELETE FROM access.rate_buckets WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM access.rate_buckets WHERE full_at < clock_timestamp()
      LIMIT ${DELETED_AT_ONCE} FOR UPDATE SKIP LOCKED
    ))`.execute(db)
}
