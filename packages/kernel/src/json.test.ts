import { describe, expect, it } from 'vitest'
import { parseJson } from './json.ts'

const parse = (text: string, depth?: number) =>
  parseJson(Buffer.from(text), depth === undefined ? {} : { depth })

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

  it('drops keys that would reach prototypes', () => {
    const value = parse('{"__proto__":{"admin":true},"constructor":{"prototype":{"x":1}},"a":1}') as object
    expect(Object.keys(value)).toEqual(['a'])
    expect((value as { admin?: boolean }).admin).toBeUndefined()
  })
})
