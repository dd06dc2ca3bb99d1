import { type Selectable, sql } from 'kysely'
import { type Actor, createdBy, modifiedBy } from './stamps.ts'
import type { PortalDb, PortalTransaction, SpaceBudgetsTable } from './tables.ts'

export type SpaceBudgetRow = Selectable<SpaceBudgetsTable>

export interface SpaceSpendRow {
  /** `YYYY-MM`, UTC. */
  readonly month: string
  /** Decimal text, as all amounts here. */
  readonly monthly_budget: string | null
  /** 0 while nobody has set a budget. */
  readonly version: number
  readonly spend: string
  readonly keys: readonly {
    readonly apiKeyId: string
    readonly name: string
    readonly monthlyBudget: string | null
    readonly spend: string
  }[]
}

/** The space's budget and what it and its keys spent in the running month. */
export async function selectSpaceSpend(
  db: PortalDb,
  spaceId: string,
  currency: string,
): Promise<SpaceSpendRow | undefined> {
  const { rows } = await sql<SpaceSpendRow>`
    WITH running AS (SELECT date_trunc('month', now() AT TIME ZONE 'UTC')::date AS month)
    SELECT to_char(r.month, 'YYYY-MM') AS month, b.monthly_budget, coalesce(b.version, 0) AS version,
           coalesce(total.amount, 0) AS spend, coalesce(keys.list, '[]') AS keys
      FROM portal.spaces s CROSS JOIN running r
      LEFT JOIN portal.space_budgets b ON b.space_id = s.space_id
      LEFT JOIN portal.space_monthly_spend total
        ON total.space_id = s.space_id AND total.month = r.month AND total.currency = ${currency}
      CROSS JOIN LATERAL (
        SELECT json_agg(json_build_object('apiKeyId', key_id, 'name', name, 'monthlyBudget', monthly_budget::text,
                 'spend', amount::text) ORDER BY amount DESC, key_id) AS list
          FROM (SELECT k.key_id, k.name, k.monthly_budget, coalesce(used.amount, 0) AS amount
                  FROM portal.api_keys k
                  LEFT JOIN portal.key_monthly_spend used
                    ON used.space_id = k.space_id AND used.month = r.month AND used.key_id = k.key_id
                   AND used.currency = ${currency}
                 WHERE k.space_id = s.space_id AND (used.amount IS NOT NULL OR k.monthly_budget IS NOT NULL)
                 ORDER BY amount DESC, k.key_id LIMIT 1000) AS k
      ) AS keys
     WHERE s.space_id = ${spaceId}`.execute(db)
  return rows[0]
}

export async function findSpaceBudget(db: PortalDb, spaceId: string): Promise<SpaceBudgetRow | undefined> {
  return db.selectFrom('portal.space_budgets').selectAll().where('space_id', '=', spaceId).executeTakeFirst()
}

/** The caller holds the space, so that budgets are not set twice at once. */
export async function upsertSpaceBudget(
  trx: PortalTransaction,
  spaceId: string,
  monthlyBudget: string | null,
  actor: Actor,
): Promise<SpaceBudgetRow> {
  return trx
    .insertInto('portal.space_budgets')
    .values({ space_id: spaceId, monthly_budget: monthlyBudget, ...createdBy(actor) })
    .onConflict((conflict) =>
      conflict.column('space_id').doUpdateSet({
        monthly_budget: monthlyBudget,
        ...modifiedBy(actor),
        version: sql<number>`space_budgets.version + 1`,
      }),
    )
    .returningAll()
    .executeTakeFirstOrThrow()
}
