import { named } from '@atrium/kernel/http'
import Type from 'typebox'

export const Model = named(
  'Model',
  Type.Object({
    modelId: Type.String(),
    name: Type.String({ description: 'What an agent’s `model` names' }),
    provider: Type.String(),
  }),
)
