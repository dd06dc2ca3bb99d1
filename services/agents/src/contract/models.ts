import Type from 'typebox'

export const Model = Type.Object({
  modelId: Type.String(),
  name: Type.String({ description: 'What an agent’s `model` names' }),
  provider: Type.String(),
})
