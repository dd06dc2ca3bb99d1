import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readFloatRows } from './float-rows.ts'
import { splitBody } from './split-body.ts'

const read = (text: string, dimension: number, most = 100) =>
  readFloatRows(Buffer.from(text), 0, dimension, most)

/** One step of a 32-bit float, relative. */
const STEP = 2 ** -23

const finite = fc.double({ noNaN: true, noDefaultInfinity: true, min: -3e38, max: 3e38 })
const asText = fc.oneof(
  finite.map((value) => JSON.stringify(value)),
  finite.map((value) => value.toExponential()),
  fc.float({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.integer().map(String),
  fc.tuple(fc.integer(), fc.stringMatching(/^\d{1,60}$/)).map(([whole, part]) => `${whole}.${part}`),
  fc.tuple(fc.integer(), fc.integer({ min: -60, max: 30 })).map(([whole, power]) => `${whole}E${power}`),
)
const space = fc.constantFrom('', ' ', '\n\t', '  \r\n')

describe('rows of numbers', () => {
  test('are what JSON.parse reads, to the precision of a 32-bit float', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 7 }).chain((dimension) =>
          fc.record({
            dimension: fc.constant(dimension),
            rows: fc.array(fc.array(asText, { minLength: dimension, maxLength: dimension }), {
              minLength: 1,
              maxLength: 9,
            }),
            gap: space,
          }),
        ),
        ({ dimension, rows, gap }) => {
          const text = `${gap}[${gap}${rows
            .map((row) => `[${gap}${row.join(`${gap},${gap}`)}${gap}]`)
            .join(`${gap},${gap}`)}${gap}]`
          const found = read(`${text} behind`, dimension)
          expect(found?.end).toBe(text.length)
          expect(found?.rows.count).toBe(rows.length)
          const wanted = (JSON.parse(text) as number[][]).flat()
          for (const [index, value] of wanted.entries()) {
            const single = Math.fround(value)
            const value32 = found?.rows.values[index] ?? Number.NaN
            // Both may be beyond the range.
            const off = value32 === single ? 0 : Math.abs(value32 - single)
            expect(off).toBeLessThanOrEqual(Math.max(Math.abs(single) * STEP, 2e-45))
          }
        },
      ),
      { numRuns: 2000 },
    )
  })

  test('are exactly what JSON.parse reads where a 32-bit float was written', () => {
    const values = Float32Array.from(
      { length: 3000 },
      (_, index) => Math.sin(index * 1.7) / ((index % 90) + 1),
    )
    const found = read(JSON.stringify([Array.from(values)]), values.length)
    expect(found?.rows.values).toEqual(values)
  })

  test('may take more text than WebAssembly sees at once, shared with another thread too', () => {
    const rows = Array.from({ length: 211 }, (_, row) =>
      Array.from({ length: 512 }, (_, index) => Math.fround(Math.sin(row * 512 + index))),
    )
    const text = JSON.stringify(rows)
    const shared = Buffer.from(new SharedArrayBuffer(text.length + 3))
    shared.write(`   ${text}`)
    const found = readFloatRows(shared, 3, 512, 1000)
    expect(found?.end).toBe(shared.length)
    expect(found?.rows.values).toEqual(Float32Array.from(rows.flat()))
  })

  test('are left to others where one is longer than WebAssembly sees', () => {
    expect(read(`[[1,${' '.repeat(300_000)}2]]`, 2)).toBeUndefined()
    expect(read(`[[1,2],[1,${' '.repeat(260_000)}2]]`, 2)?.rows.count).toBe(2)
  })

  test.each([
    '[]',
    '[[]]',
    '[[1]]',
    '[[1,2,3]]',
    '[[1,2],[3]]',
    '[[1,2],]',
    '[[1,2]',
    '[[1,2',
    '[[1,',
    '',
    '{}',
    'null',
    '[[01,2]]',
    '[[1.,2]]',
    '[[.5,2]]',
    '[[+1,2]]',
    '[[-,2]]',
    '[[1e,2]]',
    '[[1e+,2]]',
    '[[0x1,2]]',
    '[[NaN,2]]',
    '[[Infinity,2]]',
    '[["1",2]]',
    '[[null,2]]',
    '[[1 2]]',
    '[[1,2,]]',
    '[[[1],2]]',
    '[[1,2]][',
    '[[1,2];[3,4]]',
    `[[0.${'1'.repeat(400)},2]]`,
  ])('are left to others in %j', (text) => {
    const found = read(text, 2)
    // What follows the rows is not looked at here.
    expect(found === undefined || text.slice(found.end) === '[').toBe(true)
  })

  test('stop at so many', () => {
    expect(read('[[1],[2],[3]]', 1, 3)?.rows.count).toBe(3)
    expect(read('[[1],[2],[3],[4]]', 1, 3)).toBeUndefined()
  })
})

describe('a body', () => {
  const split = (text: string) => {
    const found = splitBody(Buffer.from(text), 2, 10)
    return found === undefined ? undefined : JSON.parse(found.rest.toString())
  }

  test('is parted from its vectors wherever they stand', () => {
    expect(split('{"embeddings":[[1,2]]}')).toEqual({ embeddings: null })
    expect(
      split('{"chunks":["a\\"}]", "\\\\"], "embeddings" : [[1,2],[3,4]], "x":{"embeddings":[1]}}'),
    ).toEqual({
      chunks: ['a"}]', '\\'],
      embeddings: null,
      x: { embeddings: [1] },
    })
  })

  test('is left alone where its vectors are unusual', () => {
    expect(split('{"metadata":[{"embeddings":[[1,2]]}]}')).toBeUndefined()
    expect(split('{"chunks":["embeddings"]}')).toBeUndefined()
    expect(split('{"embeddings":[[1,"2"]]}')).toBeUndefined()
    expect(split('{"embeddings":[[1,2,3]]}')).toBeUndefined()
    expect(split('"embeddings":[[1,2]]')).toBeUndefined()
    expect(split('{"a')).toBeUndefined()
  })

  test('keeps a second key of that name', () => {
    expect(split('{"embeddings":[[1,2]],"embeddings":[[3]]}')).toEqual({ embeddings: [[3]] })
    expect(split('{"embeddings":[[1,2]],"\\u0065mbeddings":[[3]]}')).toEqual({ embeddings: [[3]] })
  })
})
