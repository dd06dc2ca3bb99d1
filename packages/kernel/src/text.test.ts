import Type from 'typebox'
import { describe, expect, it } from 'vitest'
import { compileValidator } from './http/compilers.ts'
import { hasLength } from './text.ts'

describe('hasLength', () => {
  const validate = compileValidator({ schema: Type.String({ minLength: 2, maxLength: 4 }), httpPart: 'body' })

  it.each([
    '',
    'a',
    'ab',
    'abcd',
    'abcde',
    '😀',
    '😀😀',
    '😀😀😀😀',
    '😀😀😀😀😀',
    'a\ud800',
    '\ud800\ud800\ud800\ud800\ud800',
  ])('counts as a schema does: %j', (text) => expect(hasLength(text, 2, 4)).toBe(validate(text)))
})
