import { AppError } from '@atrium/kernel/errors'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readVector } from './vector.ts'

const read = (given: unknown, dimension = 3): Float32Array => {
  const into = new Float32Array(dimension)
  readVector('body.v', given, into)
  return into
}

describe('readVector', () => {
  it('takes numbers, as 32-bit floats', () => {
    expect([...read([1, -0.1, 1e-20])]).toEqual([1, Math.fround(-0.1), Math.fround(1e-20)])
    expect([...read([1e14, 0, -1e14])].map(Math.sign)).toEqual([1, 0, -1])
  })

  it.each<[unknown, RegExp]>([
    [undefined, /^body\.v must be an array of numbers/],
    [null, /not null$/],
    ['[1,2,3]', /not a string$/],
    [{ length: 3 }, /not a object$|not an object$/],
    [[], /has 0 numbers, but the store's dimension is 3/],
    [[1, 2], /has 2 numbers/],
    [[1, 2, 3, 4], /has 4 numbers/],
    [[1, '2', 3], /^body\.v\[1\] must be a number, not a string/],
    [[1, 2, null], /^body\.v\[2\].*not null/],
    [[1, [2], 3], /^body\.v\[1\].*not an array/],
    [[true, 1, 2], /^body\.v\[0\].*not a boolean/],
    [[1, Number.NaN, 2], /a number at \[1\]/],
    [[1, 2, Number.NEGATIVE_INFINITY], /a number at \[2\] that is beyond the range/],
    [[1e20, 0, 0], /is longer than 1000000000000000/],
    [[1e39, 0, 0], /a number at \[0\] that is beyond the range/],
    [[1e308, 1e308, 0], /beyond the range/],
    [[0, -0, 0], /is all zeros/],
    [[1e-30, 0, 0], /is too short to have a direction/],
  ])('refuses %j', (given, message) => {
    expect(() => read(given)).toThrow(message)
    expect(() => read(given)).toThrow(AppError)
  })

  it('takes only vectors whose cosine 32-bit floats can tell', () => {
    fc.assert(
      fc.property(fc.array(fc.double(), { minLength: 3, maxLength: 3 }), (numbers) => {
        let vector: Float32Array
        try {
          vector = read(numbers)
        } catch (error) {
          expect(error).toBeInstanceOf(AppError)
          return
        }
        let squares = Math.fround(0)
        for (const number of vector) squares = Math.fround(squares + Math.fround(number * number))
        expect(squares > 0 && Number.isFinite(squares)).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })
})
