import { sql } from 'kysely'
import type { PortalDb, PortalTransaction } from './tables.ts'

/** A lease is good for so long after its holder was last heard of. */
export const LEASE_SECONDS = 30

/** Whose budget: a key's, or the space's own. */
export interface BudgetSubject {
  readonly spaceId: string
  /** Null: the space's own. */
  readonly keyId: string | null
}

export interface LeaseRow {
  /** What the holder may spend now, all in all. Decimal text, as all amounts here. */
  readonly amount: string
  /** Of the month's budget, less what is recorded as spent; below zero when it was exceeded. */
  readonly left: string
}

const subjectId = ({ spaceId, keyId }: BudgetSubject): string => keyId ?? spaceId

/** Those who lease of one budget take turns until the end of the transaction. */
export async function lockBudget(trx: PortalTransaction, subject: BudgetSubject): Promise<void> {
  await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`budget ${subjectId(subject)}`}, 0))`.execute(trx)
}

/**
 * Sets the holder's lease to what it uses and needs, or to what is left. Where much is left it gets more, so that it does
 * not ask for each call: eight times the need, at most a sixteenth of the rest.
 * @returns undefined where there is no budget
 */
export async function upsertLease(
  trx: PortalTransaction,
  subject: BudgetSubject,
  holder: string,
  ask: { inUse: string; needed: string },
  currency: string,
): Promise<LeaseRow | undefined> {
  const { spaceId, keyId } = subject
  const id = subjectId(subject)
  const budget =
    keyId === null
      ? sql`SELECT monthly_budget FROM portal.space_budgets WHERE space_id = ${spaceId}`
      : sql`SELECT monthly_budget FROM portal.api_keys WHERE space_id = ${spaceId} AND key_id = ${keyId}`
  const spent =
    keyId === null
      ? sql`SELECT amount FROM portal.space_monthly_spend s, running r
             WHERE space_id = ${spaceId} AND s.month = r.month AND currency = ${currency}`
      : sql`SELECT amount FROM portal.key_monthly_spend s, running r
             WHERE space_id = ${spaceId} AND s.month = r.month AND key_id = ${keyId} AND currency = ${currency}`
  const { rows } = await sql<LeaseRow>`
    WITH running AS (SELECT date_trunc('month', now() AT TIME ZONE 'UTC')::date AS month),
    budget AS (
      SELECT monthly_budget - coalesce((${spent}), 0) AS rest,
             coalesce((SELECT sum(amount) FROM portal.budget_leases
                        WHERE subject_id = ${id} AND holder <> ${holder} AND expires_at > now()), 0) AS others
        FROM (${budget}) AS b WHERE monthly_budget IS NOT NULL
    )
    INSERT INTO portal.budget_leases AS lease (space_id, subject_id, holder, amount, expires_at)
    SELECT ${spaceId}, ${id}, ${holder},
           greatest(0, least(rest - others, ${ask.inUse}::numeric
             + greatest(${ask.needed}::numeric, least(${ask.needed}::numeric * 8, trunc((rest - others) / 16, 12))))),
           now() + make_interval(secs => ${LEASE_SECONDS})
      FROM budget
    ON CONFLICT (subject_id, holder) DO UPDATE SET amount = excluded.amount, expires_at = excluded.expires_at
    RETURNING lease.amount::text AS amount, (SELECT rest::text FROM budget) AS left`.execute(trx)
  return rows[0]
}

/** A lease as its holder keeps it. */
export interface KeptLease extends BudgetSubject {
  /** Not more than it has; 0 gives it back. */
  readonly amount: string
}

/**
 * Lowers leases to what their holder still needs, and prolongs them.
 * @returns the ids of the keys and spaces whose leases it still has
 */
export async function keepLeases(
  db: PortalDb,
  holder: string,
  leases: readonly KeptLease[],
): Promise<string[]> {
  const ids = leases.map(subjectId)
  const amounts = leases.map(({ amount }) => amount)
  const { rows } = await sql<{ subject_id: string; amount: string }>`
    WITH kept AS (SELECT * FROM unnest(${ids}::uuid[], ${amounts}::numeric[]) AS k(subject_id, amount)),
    gone AS (
      DELETE FROM portal.budget_leases WHERE expires_at < now() - interval '1 minute'
         OR (holder = ${holder} AND subject_id IN (SELECT subject_id FROM kept WHERE amount = 0))
    )
    UPDATE portal.budget_leases l
       SET amount = least(l.amount, kept.amount), expires_at = now() + make_interval(secs => ${LEASE_SECONDS})
      FROM kept
     WHERE l.subject_id = kept.subject_id AND l.holder = ${holder} AND kept.amount > 0 AND l.expires_at > now()
    RETURNING l.subject_id`.execute(db)
  return rows.map((row) => row.subject_id)
}

/** Gives back all that a holder has. */
export async function deleteLeases(db: PortalDb, holder: string): Promise<void> {
  await sql`DELETE FROM portal.budget_leases WHERE holder = ${holder}`.execute(db)
}
