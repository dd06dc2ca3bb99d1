import { named } from '@atrium/kernel/http'
import Type from 'typebox'

const Money = Type.Number({ description: 'Exact decimal: read it as text where doubles are too coarse' })

export const SpaceBudgetInput = named(
  'SetSpaceBudget',
  Type.Object({
    monthlyBudget: Type.Union(
      [
        Type.Number({
          minimum: 0,
          exclusiveMaximum: 1e9,
          description: 'At most 9 digits before and 6 after the point',
        }),
        Type.Null(),
      ],
      { description: 'Null takes the budget away' },
    ),
  }),
)

export const SpaceBudget = named(
  'SpaceBudget',
  Type.Object({
    spaceId: Type.String(),
    month: Type.String({ description: 'The running month (UTC)', examples: ['2026-03'] }),
    currency: Type.String(),
    monthlyBudget: Type.Union([Money, Type.Null()]),
    spend: Type.Number({ description: 'Gateway use of this month, in this currency' }),
    remaining: Type.Union([Money, Type.Null()]),
    apiKeys: Type.Array(
      named(
        'ApiKeyBudget',
        Type.Object({
          apiKeyId: Type.String(),
          name: Type.String(),
          monthlyBudget: Type.Union([Money, Type.Null()]),
          spend: Money,
        }),
      ),
      {
        description:
          'Keys with use in this month or with a budget of their own, those that spent most first; at most 1000',
      },
    ),
  }),
)
