import { named } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { oneOf } from './common.ts'

export const ModelKind = named(
  'ModelKind',
  oneOf('chat', 'responses', 'embeddings', 'images', 'video', 'transcription', 'speech', 'realtime'),
)
export type ModelKind = Static<typeof ModelKind>

/** OpenAI's model object; `kind`, `available`, limits and dates are Atrium's extension. */
export const Model = named(
  'Model',
  Type.Object({
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
  }),
)
export type Model = Static<typeof Model>

export const ModelList = named(
  'ModelList',
  Type.Object({ object: Type.Literal('list'), data: Type.Array(Model) }),
)
