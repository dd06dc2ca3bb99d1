import type { Readable } from 'node:stream'
import { streamArray } from '@atrium/kernel/http'
import Type, { type TSchema } from 'typebox'

async function* presented<Row>(
  batches: AsyncIterable<readonly Row[]>,
  present: (row: Row) => unknown,
): AsyncGenerator<unknown[]> {
  for await (const batch of batches) yield batch.map(present)
}

/** A JSON array of presented rows, written as the database delivers them. */
export const arrayOf = <Row>(
  batches: AsyncIterable<readonly Row[]>,
  present: (row: Row) => unknown,
): Readable => streamArray(presented(batches, present))

/** Response schema of a list that `arrayOf` sends: an array in the contract, a stream in the handler. */
export const streamed = <S extends TSchema>(items: S) => Type.Unsafe<Readable>(Type.Array(items))
