import { describe, expect, it } from 'vitest'
import { isJsonWithin, metadataTree } from './metadata-tree.ts'

describe('metadataTree', () => {
  it.each([
    ['dotted keys as nested objects', { 'a.b': 1, c: 2 }, { c: 2, a: { b: 1 } }],
    ['them beside real ones', { 'a.b': 1, a: { c: 2 } }, { a: { c: 2, b: 1 } }],
    ['a real value before a dotted key', { 'a.b': 1, 'a.c': 2, a: { b: 3 } }, { a: { b: 3, c: 2 } }],
    ['a plain value before a dotted key', { a: 1, 'a.b': 2, 'a.b.c': 3 }, { a: 1 }],
    ['dots in nested keys and arrays', { a: [{ 'b.c': 1 }] }, { a: [{ b: { c: 1 } }] }],
    ['dots alone', { '.': 1 }, { '': { '': 1 } }],
    ['lone surrogates as U+FFFD', { '\ud800': ['\udc00'] }, { '\ufffd': ['\ufffd'] }],
  ])('reads %s', (_name, metadata, tree) => {
    expect(JSON.stringify(metadataTree(metadata))).toBe(JSON.stringify(tree))
  })

  it('leaves what needs no change as it is', () => {
    const metadata = { a: [1, { b: null }], c: 'é😀' }
    expect(metadataTree(metadata)).toBe(metadata)
  })

  it('sets no prototype', () => {
    const tree = metadataTree(JSON.parse('{"__proto__.isAdmin":true,"constructor.prototype.x":1}'))
    expect(JSON.stringify(tree)).toBe('{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"x":1}}}')
    expect(Reflect.get({}, 'isAdmin')).toBeUndefined()
  })
})

describe('isJsonWithin', () => {
  it('counts levels and does not follow them to the end', () => {
    expect(isJsonWithin({ a: [1] }, 2)).toBe(true)
    expect(isJsonWithin({ a: [[1]] }, 2)).toBe(false)
    expect(isJsonWithin(JSON.parse('['.repeat(200_000) + ']'.repeat(200_000)), 32)).toBe(false)
  })

  it.each([Number.NaN, Number.POSITIVE_INFINITY, undefined, 1n, Symbol('x')])('refuses %s', (value) => {
    expect(isJsonWithin({ a: value }, 32)).toBe(false)
  })
})
