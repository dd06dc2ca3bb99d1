import { named } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { nullable, oneOf } from './common.ts'

const Token = Type.Integer({ minimum: 0, maximum: 2_147_483_647 })

/** One text, several, or the same as token numbers. */
export const EmbeddingsInput = Type.Union([
  Type.String(),
  Type.Array(Type.String()),
  Type.Array(Token),
  Type.Array(Type.Array(Token)),
])
export type EmbeddingsInput = Static<typeof EmbeddingsInput>

/** The fields that the gateway checks; all others go to the backend as they came. */
export const EmbeddingsRequest = named(
  'EmbeddingsRequest',
  Type.Object({
    model: Type.String({ minLength: 1, maxLength: 256 }),
    input: EmbeddingsInput,
    dimensions: nullable(Type.Integer({ minimum: 1 })),
    encoding_format: nullable(named('EncodingFormat', oneOf('float', 'base64'))),
    user: nullable(Type.String()),
  }),
)
export type EmbeddingsRequest = Static<typeof EmbeddingsRequest>

/** The part of the answer that the gateway vouches for; backends add fields of their own. */
export const EmbeddingsList = named(
  'EmbeddingsList',
  Type.Object({
    object: Type.String(),
    data: Type.Array(
      named(
        'Embedding',
        Type.Object({
          object: Type.String(),
          index: Type.Integer(),
          embedding: Type.Union([
            Type.Array(Type.Number()),
            Type.String({ description: 'With `encoding_format: base64`: 32-bit floats, little-endian' }),
          ]),
        }),
      ),
    ),
    model: Type.String(),
    usage: Type.Optional(Type.Object({ prompt_tokens: Type.Integer(), total_tokens: Type.Integer() })),
  }),
)
