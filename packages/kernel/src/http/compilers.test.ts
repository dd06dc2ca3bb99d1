import { expect, it } from 'vitest'
import { compileValidator } from './compilers.ts'

const schema = { type: 'string', minLength: 2, maxLength: 4 }

it.each([
  ['', false],
  ['a', false],
  ['𝄞', false],
  ['ab', true],
  ['𝄞𝄞', true],
  ['abcd', true],
  ['𝄞𝄞𝄞𝄞', true],
  ['abcde', false],
  ['𝄞bcde', false],
  ['𝄞'.repeat(5), false],
  ['x'.repeat(1_000_000), false],
])('lengths of texts are counted in characters, as JSON Schema says: %j', (text, isRight) => {
  expect(compileValidator({ schema, httpPart: 'body' })(text)).toBe(isRight)
})

it('a length that is refused names its limit', () => {
  const validate = compileValidator({ schema, httpPart: 'body' })
  validate('abcde')
  expect(validate.errors?.map(({ keyword, params }) => [keyword, params])).toEqual([
    ['maxLength', { limit: 4 }],
  ])
})

it('no length is asked of a text where none is set', () => {
  const validate = compileValidator({ schema: { type: 'string', minLength: 0 }, httpPart: 'body' })
  expect([validate(''), validate('a')]).toEqual([true, true])
})
