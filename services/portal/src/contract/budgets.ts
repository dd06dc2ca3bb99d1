import Type from 'typebox'

const Money = Type.Number({ description: 'Exact decimal: read it as text where doubles are too coarse' })

export const SpaceBudgetInput = Type.Object({
  monthlyBudget: Type.Union(
    [Type.Number({ minimum: 0, description: 'At most 9 digits before and 6 after the point' }), Type.Null()],
    { description: 'Null takes the budget away' },
  ),
})

export const SpaceBudget = Type.Object({
  spaceId: Type.String(),
  month: Type.String({ description: 'The running month (UTC)', examples: ['2026-03'] }),
  currency: Type.String(),
  monthlyBudget: Type.Union([Money, Type.Null()]),
  spend: Type.Number({ description: 'Gateway use of this month, in this currency' }),
  remaining: Type.Union([Money, Type.Null()]),
  apiKeys: Type.Array(
    Type.Object({
      apiKeyId: Type.String(),
      name: Type.String(),
      monthlyBudget: Type.Union([Money, Type.Null()]),
      spend: Money,
    }),
    {
      description:
        'Keys with use in this month or with a budget of their own, those that spent most first; at most 1000',
    },
  ),
})
