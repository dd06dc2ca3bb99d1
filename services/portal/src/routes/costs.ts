import { actOf } from '@atrium/access'
import { readJsonBodies, type ServiceScope } from '@atrium/kernel/http'
import { parseJson } from '@atrium/kernel/json'
import { readLarge, turnForPiece } from '@atrium/kernel/tenant-work'
import type { PortalContext } from '../context.ts'
import { bodyErrors, errors, SpaceParams } from '../contract/common.ts'
import { CostEntry, CostEntryInput, CostReport, CostReportQuery } from '../contract/costs.ts'
import { recordCost, reportCosts } from '../domain/costs.ts'
import { exactNumber, numberSource } from '../domain/exact-json.ts'
import { reportsText } from './cost-report-text.ts'
import { exactly } from './exactly.ts'
import type { PortalGuard } from './guard.ts'

const tags = ['Costs']

/** `calculatedCost` of a parsed body, as it was written. */
const writtenAmounts = new WeakMap<object, string>()

/** Bodies of this scope remember the digits of their amount, which a double may not hold. */
function keepAmounts(scope: ServiceScope): void {
  readJsonBodies(scope, (body) => {
    const value = parseJson(body)
    const amount = numberSource(body.toString('utf8'), 'calculatedCost')
    if (amount !== undefined && typeof value === 'object' && value !== null) writtenAmounts.set(value, amount)
    return value
  })
}

export async function costRoutes(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): Promise<void> {
  costReport(scope, ctx, guard)
  await scope.register(async (entries: ServiceScope) => {
    keepAmounts(entries)
    costEntry(entries, ctx, guard)
  })
}

function costReport(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'GET',
    url: '/v1/spaces/:spaceId/costs/report',
    ...guard('getCostReport'),
    ...exactly,
    schema: {
      tags,
      summary: 'The costs of a month',
      params: SpaceParams,
      querystring: CostReportQuery,
      response: { 200: CostReport, ...errors(400, 403, 404) },
    },
    handler: async (request, reply) => {
      const { spaceId } = request.params
      const { month, includeDetails = false } = request.query
      const options = { byDay: includeDetails, defaultCurrency: ctx.env.ATRIUM_CURRENCY }
      const pause = () => turnForPiece()
      const reports = await readLarge(() => reportCosts(ctx.db, spaceId, month, options, pause))
      const heading = { spaceId, month, generatedAt: new Date().toISOString() }
      const text = await reportsText(reports, heading, includeDetails, pause)
      return reply.type('application/json; charset=utf-8').send(text as never)
    },
  })
}

function costEntry(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'POST',
    url: '/v1/spaces/:spaceId/costs',
    ...guard('createCostEntry'),
    ...exactly,
    schema: {
      tags,
      summary: 'Record a cost',
      params: SpaceParams,
      body: CostEntryInput,
      response: { 201: CostEntry, ...bodyErrors, ...errors(403, 404) },
    },
    handler: async (request, reply) => {
      const amount = writtenAmounts.get(request.body) ?? String(request.body.calculatedCost)
      const act = actOf(request)
      const entry = await recordCost(ctx.db, request.params.spaceId, request.body, amount, act)
      return reply.code(201).send({
        entryId: entry.entryId,
        day: entry.day,
        service: entry.service,
        calculatedCost: exactNumber(entry.amount),
        currency: entry.currency,
        status: 'Recorded' as const,
      })
    },
  })
}
