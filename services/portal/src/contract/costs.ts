import { named, requiredText, textLike } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { Timestamp } from './common.ts'

const Currency = textLike('^[A-Z]{3}$', 'be a currency code of three capitals, like USD', {
  examples: ['USD'],
})
/** Before 1970 nothing was billed by anybody; years that PostgreSQL does not know are refused by the way. */
const YEAR = '(19[7-9][0-9]|[2-9][0-9]{3})'
const Amount = Type.Number({ description: 'Exact decimal: read it as text where doubles are too coarse' })

export const CostEntryInput = named(
  'RecordCost',
  Type.Object({
    day: textLike(`^${YEAR}-`, 'be a day, 1970-01-01 or later', { format: 'date', examples: ['2026-03-01'] }),
    service: requiredText(128),
    calculatedCost: Type.Number({
      minimum: 0,
      exclusiveMaximum: 1e12,
      description: 'At most 12 digits before and 12 after the decimal point',
    }),
    currency: Currency,
    usageDetails: Type.Optional(Type.String({ maxLength: 65_536, description: 'JSON text; {} by default' })),
    description: Type.Optional(Type.String({ maxLength: 4000 })),
  }),
)

export const CostEntry = named(
  'CostEntry',
  Type.Object({
    entryId: Type.String(),
    day: Type.String({ format: 'date' }),
    service: Type.String(),
    calculatedCost: Amount,
    currency: Currency,
    status: Type.Literal('Recorded'),
  }),
)

export const CostReportQuery = Type.Object({
  month: textLike(`^${YEAR}-(0[1-9]|1[0-2])$`, 'be a month, 1970-01 or later', { examples: ['2026-03'] }),
  includeDetails: Type.Optional(Type.Boolean({ default: false, description: 'Adds the daily entries' })),
})

const report = {
  spaceId: Type.String(),
  month: Type.String(),
  currency: Currency,
  services: Type.Array(
    named(
      'ServiceCosts',
      Type.Object({
        service: Type.String(),
        totalCost: Amount,
        billingPositions: Type.Optional(
          Type.Array(
            named(
              'BillingPosition',
              Type.Object({ day: Type.String({ format: 'date' }), calculatedCost: Amount }),
            ),
          ),
        ),
      }),
    ),
  ),
  totals: named(
    'CostTotals',
    Type.Object({ overallCost: Amount, services: Type.Record(Type.String(), Amount) }),
  ),
  generatedAt: Timestamp,
}

export const CostReport = named(
  'CostReport',
  Type.Object({
    ...report,
    reports: Type.Optional(
      Type.Array(named('CurrencyReport', Type.Object(report)), {
        description: 'Only for a month with several currencies: one report for each',
      }),
    ),
  }),
)

export type CostEntryInput = Static<typeof CostEntryInput>
