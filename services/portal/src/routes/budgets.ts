import { actOf } from '@atrium/access'
import { ifMatchVersions, type ServiceScope, setEtag, withEtag } from '@atrium/kernel/http'
import type { FastifyReply } from 'fastify'
import type { Static } from 'typebox'
import type { PortalContext } from '../context.ts'
import { SpaceBudget, SpaceBudgetInput } from '../contract/budgets.ts'
import { bodyErrors, errors, SpaceParams } from '../contract/common.ts'
import { getSpaceBudget, platformCurrency, setSpaceBudget } from '../domain/budgets.ts'
import { exactNumber } from '../domain/exact-json.ts'
import { leftOf, plainDecimal } from '../domain/money.ts'
import type { SpaceSpendRow } from '../queries/budgets.ts'
import { exactly } from './exactly.ts'
import type { PortalGuard } from './guard.ts'

const tags = ['Budgets']
const path = '/v1/spaces/:spaceId/budget'

const exact = (amount: string): number => exactNumber(plainDecimal(amount))
const exactOrNull = (amount: string | null): number | null => (amount === null ? null : exact(amount))

function answer(
  ctx: PortalContext,
  reply: FastifyReply,
  spaceId: string,
  row: SpaceSpendRow,
): Static<typeof SpaceBudget> {
  setEtag(reply, row.version)
  return {
    spaceId,
    month: row.month,
    currency: platformCurrency(ctx),
    monthlyBudget: exactOrNull(row.monthly_budget),
    spend: exact(row.spend),
    remaining: row.monthly_budget === null ? null : exactNumber(leftOf(row.monthly_budget, row.spend)),
    apiKeys: row.keys.map((key) => ({
      ...key,
      monthlyBudget: exactOrNull(key.monthlyBudget),
      spend: exact(key.spend),
    })),
  }
}

export function budgetRoutes(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'GET',
    url: path,
    ...guard('getSpaceBudget'),
    ...exactly,
    schema: {
      tags,
      summary: 'The monthly budget of a space, and what was spent of it',
      params: SpaceParams,
      response: { 200: withEtag(SpaceBudget), ...errors(403, 404) },
    },
    handler: async (request, reply) => {
      const { spaceId } = request.params
      return answer(ctx, reply, spaceId, await getSpaceBudget(ctx, spaceId))
    },
  })

  scope.route({
    method: 'PUT',
    url: path,
    ...guard('setSpaceBudget'),
    ...exactly,
    schema: {
      tags,
      summary: 'Set the monthly budget of a space for gateway use',
      params: SpaceParams,
      body: SpaceBudgetInput,
      response: { 200: withEtag(SpaceBudget), ...bodyErrors, ...errors(403, 404, 412) },
    },
    handler: async (request, reply) => {
      const { spaceId } = request.params
      const { monthlyBudget } = request.body
      const versions = ifMatchVersions(request)
      const row = await setSpaceBudget(ctx, spaceId, monthlyBudget, actOf(request), versions)
      return answer(ctx, reply, spaceId, row)
    },
  })
}
