import { describe, expect, it } from 'vitest'
import { parseJson } from './json.ts'

const parse = (text: string, isLenient = false) => parseJson(Buffer.from(text), { isLenient })

describe('parseJson', () => {
  it('parses what is JSON', () => {
    expect(parse('{"a":[1,"x",null]}')).toEqual({ a: [1, 'x', null] })
  })

  it('refuses what is not', () => {
    expect(() => parse('{a:1}')).toThrow('not valid JSON')
  })

  it('counts nesting, but not brackets in strings', () => {
    expect(() => parse('['.repeat(10_000) + ']'.repeat(10_000))).toThrow('deeper than 64')
    expect(() => parse(`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`)).toThrow('deeper than 64')
    expect(parse(`${'{"a":'.repeat(64)}1${'}'.repeat(64)}`)).toBeDefined()
    expect(parse(JSON.stringify({ text: '[{\\"'.repeat(500) }))).toEqual({ text: '[{\\"'.repeat(500) })
  })

  it('names the string that holds a NUL', () => {
    expect(() => parse('{"a":{"b":["x","y\\u0000"]}}')).toThrow('body.a.b[1] must not contain the NUL')
    expect(() => parse('{"a\\u0000":1}')).toThrow('a key')
    expect(parse('{"a":"\\\\u0000"}')).toEqual({ a: '\\u0000' })
  })

  it.each([
    ['{"a":{"b":["x","y\\ud800"]}}', 'body.a.b[1] must not contain half of a surrogate pair'],
    ['{"a":"\\uDFFF\\ud800"}', 'body.a must not contain half'],
    ['{"a\\udc00":1}', 'body: a key must not contain half'],
    ['{"a":{"__proto__":"x"}}', 'body.a.__proto__ is a name that is kept'],
    ['{"a":{"\\u005f_proto__":{"x":1}}}', 'body.a.__proto__ is a name'],
    ['[{"constructor":{"prototype":{"x":1}}}]', 'body[0].constructor is a name'],
  ])('refuses %s, unless it is to be lenient', (text, message) => {
    expect(() => parse(text)).toThrow(message)
    expect(() => parse(text, true)).not.toThrow()
  })

  it('takes pairs, escaped backslashes, and keys that are named like those of prototypes', () => {
    const text = '{"a":"\\ud83d\\ude00","b":"\\\\ud800","constructor":"c","toString":{"prototype":1}}'
    expect(parse(text)).toEqual(JSON.parse(text))
  })

  it('refuses bytes that are no UTF-8', () => {
    for (const isLenient of [false, true])
      for (const bytes of ['22fffe22', '22c3', '22eda08022', '22c0af22'])
        expect(() => parseJson(Buffer.from(bytes, 'hex'), { isLenient })).toThrow('no UTF-8')
    // Of memory that threads share, as of any other.
    const shared = Buffer.from(new SharedArrayBuffer(4))
    shared.set(Buffer.from('"é"'))
    expect(parseJson(shared)).toBe('é')
  })

  it.each([
    ['where it is lenient', true],
    ['at the top', false],
  ])('drops keys that would reach prototypes %s', (_where, isLenient) => {
    const text = '{"__proto__":{"admin":true},"constructor":{"prototype":{"x":1}},"a":1}'
    const value = parse(text, isLenient) as object
    expect(Object.keys(value)).toEqual(['a'])
    expect((value as { admin?: boolean }).admin).toBeUndefined()
  })
})
