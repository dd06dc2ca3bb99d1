import { isForeignKeyViolation } from '@atrium/kernel/db'
import { invalidInput } from '@atrium/kernel/errors'
import { newId } from '@atrium/kernel/ids'
import type { CostEntryInput } from '../contract/costs.ts'
import { spaceNotFound } from '../errors.ts'
import {
  addMonthlySpend,
  addUsage,
  type CostSum,
  insertCostEntry,
  sumDailyTotals,
  type UsageEntry,
} from '../queries/costs.ts'
import type { PortalDb, StatementRunner } from '../queries/tables.ts'
import { type Act, recordAudit } from './audit.ts'
import { parseAmount, plainDecimal, sumOf } from './money.ts'
import { spanOf } from './months.ts'

export interface RecordedCost {
  readonly entryId: string
  readonly day: string
  readonly service: string
  /** Decimal text, as everywhere in here. */
  readonly amount: string
  readonly currency: string
}

/**
 * Records one cost.
 * @param amountText `calculatedCost` as it was written: a double would lose digits
 * @throws AppError 400 for an amount out of range or details that are not JSON, 404 for a space that has just gone
 */
export async function recordCost(
  db: PortalDb,
  spaceId: string,
  input: CostEntryInput,
  amountText: string,
  act: Act,
): Promise<RecordedCost> {
  const amount = parseAmount('body.calculatedCost', amountText)
  const usageDetails = input.usageDetails ?? '{}'
  if (!isJson(usageDetails)) throw invalidInput('body.usageDetails', 'must hold JSON text')
  const entryId = newId()
  const { day, service, currency } = input
  const entry = {
    spaceId,
    entryId,
    day,
    service,
    currency,
    amount,
    usageDetails,
    description: input.description ?? '',
  }
  try {
    await db.transaction().execute(async (trx) => {
      await insertCostEntry(trx, entry, act)
      // The details stay in the entry, which nobody can change either.
      const after = { day, service, currency, amount }
      await recordAudit(trx, act, { spaceId, resourceType: 'cost', resourceId: entryId, after })
    })
  } catch (error) {
    throw isForeignKeyViolation(error) ? spaceNotFound(spaceId) : error
  }
  return { entryId, day, service, amount, currency }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

export interface ServiceCost {
  readonly service: string
  readonly total: string
  readonly days: readonly { readonly day: string; readonly amount: string }[]
}

/** One month in one currency. */
export interface CurrencyReport {
  readonly currency: string
  readonly services: readonly ServiceCost[]
  readonly overall: string
}

/**
 * The month's costs, one report per currency; the first is the main one: most entries, then by code.
 * It comes from the daily totals, which each entry joins as it is stored: a busy month costs no more than a quiet one.
 */
export async function reportCosts(
  db: PortalDb,
  spaceId: string,
  month: string,
  options: { byDay: boolean; defaultCurrency: string },
  pause: Pause,
): Promise<[CurrencyReport, ...CurrencyReport[]]> {
  const span = { spaceId, ...spanOf(month), byDay: options.byDay }
  const sums = await sumDailyTotals(db, span)
  const currencies = [...Map.groupBy(sums, (sum) => sum.currency)]
    .map(([currency, rows]) => ({
      currency,
      rows,
      entries: rows.reduce((count, row) => count + row.entries, 0),
    }))
    .sort((a, b) => b.entries - a.entries || (a.currency < b.currency ? -1 : 1))
  const reports: CurrencyReport[] = []
  for (const { currency, rows } of currencies) reports.push(await reportOf(currency, rows, pause))
  const [main = { currency: options.defaultCurrency, services: [], overall: '0' }, ...others] = reports
  return [main, ...others]
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Lets others get their turn; undefined: go on at once. */
export type Pause = () => Promise<unknown> | undefined

/** Services that are summed at once. */
const SERVICES_A_PIECE = 50

async function reportOf(currency: string, sums: readonly CostSum[], pause: Pause): Promise<CurrencyReport> {
  const groups = [...Map.groupBy(sums, (sum) => sum.service)].sort(([a], [b]) => byText(a, b))
  const services: ServiceCost[] = []
  let overall = '0'
  for (let at = 0; at < groups.length; at += SERVICES_A_PIECE) {
    await pause()
    const piece = groups.slice(at, at + SERVICES_A_PIECE).map(([service, rows]) => costOf(service, rows))
    services.push(...piece)
    overall = sumOf([overall, ...piece.map(({ total }) => total)])
  }
  return { currency, services, overall }
}

const costOf = (service: string, rows: readonly CostSum[]): ServiceCost => ({
  service,
  total: sumOf(rows.map((row) => row.amount)),
  days: rows
    .map((row) => ({ day: row.day ?? '', amount: plainDecimal(row.amount) }))
    .sort((a, b) => byText(a.day, b.day)),
})

/** Use of a model by one API key: what the gateway hands over. */
export type UsageCost = UsageEntry

/**
 * Records gateway use as cost, one entry per space, day, key, model and currency, which grows, and adds it to
 * what budgets are compared with. Two statements whatever the number of rows; use of spaces that are gone is dropped.
 * @param trx the caller's transaction: whatever else it writes is committed together with this
 */
export async function recordUsage(trx: StatementRunner, rows: readonly UsageCost[]): Promise<void> {
  if (rows.length === 0) return
  const merged = [...Map.groupBy(rows, usageKey).values()].map(mergeUsage)
  await addUsage(
    trx,
    merged,
    merged.map(() => newId()),
  )
  await addMonthlySpend(trx, merged)
}

const usageKey = (row: UsageCost): string =>
  JSON.stringify([row.spaceId, row.day, row.keyId, row.model, row.currency])

function mergeUsage(rows: readonly UsageCost[]): UsageCost {
  const last = rows.at(-1)
  if (last === undefined) throw new Error('a group of usage rows is never empty')
  const sum = (
    field: 'requests' | 'promptTokens' | 'completionTokens' | 'cachedTokens' | 'estimatedRequests',
  ): number => rows.reduce((total, row) => total + row[field], 0)
  return {
    ...last,
    cost: sumOf(rows.map((row) => row.cost)),
    requests: sum('requests'),
    promptTokens: sum('promptTokens'),
    completionTokens: sum('completionTokens'),
    cachedTokens: sum('cachedTokens'),
    estimatedRequests: sum('estimatedRequests'),
  }
}
