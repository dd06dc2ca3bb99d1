import Type, { type TSchema } from 'typebox'

/** OpenAI's clients send null for "not set". */
export const nullable = <S extends TSchema>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]))

/** One of a few words. */
export const oneOf = <const V extends readonly string[]>(...values: V) =>
  Type.Unsafe<V[number]>({ type: 'string', enum: values })
