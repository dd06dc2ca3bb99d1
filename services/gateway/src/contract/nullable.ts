import Type, { type TSchema } from 'typebox'

/** OpenAI's clients send null for "not set". */
export const nullable = <S extends TSchema>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]))
