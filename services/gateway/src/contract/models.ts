import Type, { type Static } from 'typebox'

export const ModelKind = Type.Union([
  Type.Literal('chat'),
  Type.Literal('responses'),
  Type.Literal('embeddings'),
  Type.Literal('images'),
  Type.Literal('video'),
  Type.Literal('transcription'),
  Type.Literal('speech'),
  Type.Literal('realtime'),
])
export type ModelKind = Static<typeof ModelKind>

/** OpenAI's model object; `kind`, `available`, limits and dates are Atrium's extension. */
export const Model = Type.Object({
  id: Type.String(),
  object: Type.Literal('model'),
  created: Type.Integer({ description: 'Unix time of release in seconds; 0 where unknown' }),
  owned_by: Type.String(),
  kind: ModelKind,
  available: Type.Boolean({ description: 'False while no backend with credentials serves it' }),
  context_window: Type.Optional(Type.Integer()),
  max_output_tokens: Type.Optional(Type.Integer()),
  deprecated_at: Type.Optional(Type.String({ format: 'date' })),
  sunset_at: Type.Optional(Type.String({ format: 'date' })),
})
export type Model = Static<typeof Model>

export const ModelList = Type.Object({ object: Type.Literal('list'), data: Type.Array(Model) })
