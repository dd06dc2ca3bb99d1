import { invalidInput } from '@atrium/kernel/errors'

/**
 * Lengths between which a vector's direction can be computed with 32-bit floats: beyond them squares overflow or
 * vanish, and its cosine with anything would be no number.
 */
const SHORTEST = 1e-15
const LONGEST = 1e15

const kindOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`

/**
 * Writes a vector of JSON numbers into 32-bit floats.
 * @param path named in errors, e.g. `body.embeddings[3]`
 * @throws AppError 400 when it is no array of finite numbers of the store's dimension, or has no direction
 */
export function readVector(path: string, given: unknown, into: Float32Array): void {
  if (!Array.isArray(given)) throw invalidInput(path, `must be an array of numbers, not ${kindOf(given)}`)
  if (given.length !== into.length) {
    throw invalidInput(path, `has ${given.length} numbers, but the store's dimension is ${into.length}`)
  }
  for (let index = 0; index < into.length; index++) {
    const number: unknown = given[index]
    if (typeof number !== 'number')
      throw invalidInput(`${path}[${index}]`, `must be a number, not ${kindOf(number)}`)
    into[index] = number
  }
  demandDirection(path, into)
}

/** @throws AppError 400 when a vector has numbers that are not finite, or no direction */
export function demandDirection(path: string, vector: Float32Array): void {
  const squares = sumOfSquares(vector)
  // One sum tells of all of them; which one it is matters only then.
  if (!(squares <= LONGEST * LONGEST)) throw invalidInput(path, tooLong(vector))
  if (squares < SHORTEST * SHORTEST) {
    throw invalidInput(
      path,
      squares === 0 ? 'is all zeros: it has no direction' : 'is too short to have a direction',
    )
  }
}

/** Two sums at a time: an addition takes as long as it takes to begin four. */
function sumOfSquares(vector: Float32Array): number {
  const { length } = vector
  let even = length % 2 === 1 ? (vector[length - 1] as number) ** 2 : 0
  let odd = 0
  for (let index = 1; index < length; index += 2) {
    even += (vector[index - 1] as number) ** 2
    odd += (vector[index] as number) ** 2
  }
  return even + odd
}

function tooLong(given: Float32Array): string {
  const index = given.findIndex((number) => !Number.isFinite(number))
  return index < 0
    ? `is longer than ${LONGEST}`
    : `has a number at [${index}] that is beyond the range of a 32-bit float`
}
