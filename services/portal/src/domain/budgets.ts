import { preconditionFailed } from '@atrium/kernel/errors'
import type { PortalContext } from '../context.ts'
import { spaceNotFound } from '../errors.ts'
import {
  findSpaceBudget,
  type SpaceSpendRow,
  selectSpaceSpend,
  upsertSpaceBudget,
} from '../queries/budgets.ts'
import { lockSpace } from '../queries/spaces.ts'
import { type Act, recordAudit } from './audit.ts'
import { parseBudget } from './money.ts'

/** Budgets are in this currency, and count what was spent in it. */
export const platformCurrency = (ctx: PortalContext): string => ctx.env.ATRIUM_CURRENCY

/** The budget of a space and its spend in the running month. @throws AppError 404 */
export async function getSpaceBudget(ctx: PortalContext, spaceId: string): Promise<SpaceSpendRow> {
  const row = await selectSpaceSpend(ctx.db, spaceId, platformCurrency(ctx))
  if (row === undefined) throw spaceNotFound(spaceId)
  return row
}

/**
 * Sets or takes away the budget of a space; the gateway heeds it within a second.
 * @throws AppError 400, 404, 412 (a budget that was never set has version 0)
 */
export async function setSpaceBudget(
  ctx: PortalContext,
  spaceId: string,
  budget: number | null,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<SpaceSpendRow> {
  const monthlyBudget = budget === null ? null : parseBudget('body.monthlyBudget', budget)
  await ctx.db.transaction().execute(async (trx) => {
    if ((await lockSpace(trx, spaceId)) === undefined) throw spaceNotFound(spaceId)
    const before = await findSpaceBudget(trx, spaceId)
    if (versions !== undefined && !versions.includes(before?.version ?? 0)) throw preconditionFailed()
    const after = await upsertSpaceBudget(trx, spaceId, monthlyBudget, act)
    await recordAudit(trx, act, { spaceId, resourceType: 'budget', resourceId: spaceId, before, after })
  })
  return getSpaceBudget(ctx, spaceId)
}
