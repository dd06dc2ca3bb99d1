import type { Readable } from 'node:stream'
import Type, { type TSchema } from 'typebox'

/** Response schema of a list that is sent as a bare array: an array in the contract, a stream in the handler. */
export const streamed = <S extends TSchema>(items: S) => Type.Unsafe<Readable>(Type.Array(items))
