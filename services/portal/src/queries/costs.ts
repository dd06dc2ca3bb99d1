import { type QueryExecutorProvider, sql } from 'kysely'
import type { Actor } from './stamps.ts'

export interface NewCostEntry {
  readonly spaceId: string
  readonly entryId: string
  readonly day: string
  readonly service: string
  readonly currency: string
  /** Decimal text. */
  readonly amount: string
  readonly usageDetails: string
  readonly description: string
}

/**
 * Stores an entry and adds it to its day's total, in one statement.
 * @throws the foreign-key violation of the space
 */
export async function insertCostEntry(
  db: QueryExecutorProvider,
  entry: NewCostEntry,
  actor: Actor,
): Promise<void> {
  await sql`WITH entry AS (
      INSERT INTO portal.cost_entries (space_id, entry_id, day, service, currency, amount, usage_details,
        description, created_by_id, created_by_name)
      VALUES (${entry.spaceId}, ${entry.entryId}, ${entry.day}, ${entry.service}, ${entry.currency},
        ${entry.amount}, ${entry.usageDetails}, ${entry.description}, ${actor.qxId}, ${actor.name})
      RETURNING space_id, day, service, currency, amount
    )
    INSERT INTO portal.cost_daily_totals AS total (space_id, day, service, currency, amount, entries)
    SELECT space_id, day, service, currency, amount, 1 FROM entry
    ON CONFLICT ON CONSTRAINT cost_daily_totals_pkey DO UPDATE
      SET amount = total.amount + excluded.amount, entries = total.entries + 1`.execute(db)
}

/** One day, key, model and currency of a space: what one usage entry holds. */
export interface UsageEntry {
  readonly spaceId: string
  readonly keyId: string
  readonly keyName: string
  readonly day: string
  readonly model: string
  readonly currency: string
  /** Decimal text. */
  readonly cost: string
  readonly requests: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  /** How many of the requests the gateway counted itself. */
  readonly estimatedRequests: number
}

export const USAGE_SERVICE = 'llm-gateway'

/**
 * Adds use to the entries of its days and to the daily totals, in one statement whatever the number of
 * rows. Rows are locked in the order of their keys, entries before totals, so that batches cannot
 * deadlock; spaces are locked first, so that one deleted meanwhile is left out instead of failing all.
 * @param entries at most one for each space, day, key, model and currency
 * @param newIds as many ids, for those that have no entry yet
 */
export async function addUsage(
  trx: QueryExecutorProvider,
  entries: readonly UsageEntry[],
  newIds: readonly string[],
): Promise<void> {
  const of = <K extends keyof UsageEntry>(field: K): UsageEntry[K][] => entries.map((entry) => entry[field])
  await sql`WITH used AS (
      SELECT * FROM unnest(
        ${newIds}::uuid[], ${of('spaceId')}::uuid[], ${of('day')}::date[], ${of('keyId')}::uuid[],
        ${of('keyName')}::text[], ${of('model')}::text[], ${of('currency')}::text[], ${of('cost')}::numeric[],
        ${of('requests')}::bigint[], ${of('promptTokens')}::bigint[], ${of('completionTokens')}::bigint[],
        ${of('cachedTokens')}::bigint[], ${of('estimatedRequests')}::bigint[]
      ) AS u(entry_id, space_id, day, key_id, key_name, model, currency, cost, requests, prompt, completion, cached,
        estimated)
    ), alive AS (
      SELECT space_id FROM portal.spaces WHERE space_id IN (SELECT space_id FROM used)
      ORDER BY space_id FOR KEY SHARE
    ), entered AS (
      INSERT INTO portal.cost_entries AS e (space_id, entry_id, day, service, currency, amount, usage_details,
        description, key_id, model, created_by_id, created_by_name)
      SELECT u.space_id, u.entry_id, u.day, ${USAGE_SERVICE}, u.currency, u.cost,
        jsonb_build_object('model', u.model, 'apiKeyId', u.key_id, 'requests', u.requests, 'promptTokens', u.prompt,
          'completionTokens', u.completion, 'cachedTokens', u.cached,
          'estimatedRequests', u.estimated)::text,
        u.model || ' by key ' || u.key_name, u.key_id, u.model, u.key_id, u.key_name
      FROM used u JOIN alive USING (space_id)
      ORDER BY u.space_id, u.day, u.key_id, u.model, u.currency
      ON CONFLICT (space_id, day, key_id, model, currency) WHERE key_id IS NOT NULL DO UPDATE SET
        amount = e.amount + excluded.amount,
        description = excluded.description,
        usage_details = (e.usage_details::jsonb || (
          SELECT jsonb_object_agg(name, coalesce((e.usage_details::jsonb ->> name)::bigint, 0)
                                      + (excluded.usage_details::jsonb ->> name)::bigint)
            FROM unnest(ARRAY['requests', 'promptTokens', 'completionTokens', 'cachedTokens',
                              'estimatedRequests']) AS name
        ))::text
      RETURNING space_id, day, key_id, model, currency, (xmax = 0) AS is_new
    )
    INSERT INTO portal.cost_daily_totals AS total (space_id, day, service, currency, amount, entries)
    SELECT space_id, day, ${USAGE_SERVICE}, currency, sum(u.cost), count(*) FILTER (WHERE entered.is_new)
      FROM entered JOIN used u USING (space_id, day, key_id, model, currency)
     GROUP BY space_id, day, currency ORDER BY space_id, day, currency
    ON CONFLICT ON CONSTRAINT cost_daily_totals_pkey DO UPDATE
      SET amount = total.amount + excluded.amount, entries = total.entries + excluded.entries`.execute(trx)
}

/**
 * Adds use to the month's totals of its keys and spaces, with which budgets are compared: in the caller's transaction,
 * after the entries, and in the order of keys, so that batches take their locks in the same order.
 */
export async function addMonthlySpend(
  trx: QueryExecutorProvider,
  entries: readonly UsageEntry[],
): Promise<void> {
  const of = <K extends keyof UsageEntry>(field: K): UsageEntry[K][] => entries.map((entry) => entry[field])
  await sql`WITH used AS (
      SELECT space_id, date_trunc('month', day)::date AS month, key_id, currency, sum(cost) AS cost
        FROM unnest(${of('spaceId')}::uuid[], ${of('day')}::date[], ${of('keyId')}::uuid[], ${of('currency')}::text[],
          ${of('cost')}::numeric[]) AS u(space_id, day, key_id, currency, cost)
        JOIN portal.spaces USING (space_id)
       GROUP BY space_id, month, key_id, currency
    ), keys AS (
      INSERT INTO portal.key_monthly_spend AS total (space_id, month, key_id, currency, amount)
      SELECT space_id, month, key_id, currency, cost FROM used ORDER BY space_id, month, key_id, currency
      ON CONFLICT ON CONSTRAINT key_monthly_spend_pkey DO UPDATE SET amount = total.amount + excluded.amount
      RETURNING space_id, month, key_id, currency
    )
    INSERT INTO portal.space_monthly_spend AS total (space_id, month, currency, amount)
    SELECT space_id, month, currency, sum(cost) FROM keys JOIN used USING (space_id, month, key_id, currency)
     GROUP BY space_id, month, currency ORDER BY space_id, month, currency
    ON CONFLICT ON CONSTRAINT space_monthly_spend_pkey DO UPDATE
      SET amount = total.amount + excluded.amount`.execute(trx)
}

/** A sum for one service and currency, of one day where days are told apart. */
export interface CostSum {
  readonly currency: string
  readonly service: string
  readonly day: string | null
  /** Decimal text. */
  readonly amount: string
  readonly entries: number
}

interface Span {
  readonly spaceId: string
  /** First day, and the first after the last. */
  readonly from: string
  readonly until: string
  readonly byDay: boolean
}

const dayOf = (span: Span) => (span.byDay ? sql.ref('day') : sql`NULL::date`)
const groupOf = (span: Span) => (span.byDay ? sql`currency, service, day` : sql`currency, service`)

/** The sums of a span, over the daily totals. */
export async function sumDailyTotals(db: QueryExecutorProvider, span: Span): Promise<CostSum[]> {
  const { rows } = await sql<CostSum>`
    SELECT currency, service, ${dayOf(span)} AS day, sum(amount) AS amount, sum(entries)::bigint AS entries
      FROM portal.cost_daily_totals
     WHERE space_id = ${span.spaceId} AND day >= ${span.from} AND day < ${span.until}
     GROUP BY ${groupOf(span)}`.execute(db)
  return rows
}
