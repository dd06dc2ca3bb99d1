import { expect, test } from 'vitest'
import { exactNumber, numberSource } from './exact-json.ts'
import { parseAmount, plainDecimal, sumOf } from './money.ts'

test('sums are exact', () => {
  expect(sumOf(['0.1', '0.2'])).toBe('0.3')
  expect(sumOf(Array.from({ length: 1000 }, () => '0.000000000001'))).toBe('0.000000001')
  expect(sumOf(['999999999999.999999999999', '0.000000000001'])).toBe('1000000000000')
  expect(sumOf([])).toBe('0')
  expect(plainDecimal('1.5000')).toBe('1.5')
})

test('amounts are read as they are written', () => {
  const source =
    '{"nested":{"calculatedCost":1},"calculatedCost":123456789012.123456789012,"more":{"calculatedCost":2}}'
  const text = numberSource(source, 'calculatedCost') ?? ''
  expect(parseAmount('cost', text)).toBe('123456789012.123456789012')
  expect(JSON.stringify({ cost: exactNumber(text) })).toBe('{"cost":123456789012.123456789012}')
  expect(numberSource('[1]', 'calculatedCost')).toBeUndefined()
  expect(numberSource('{"calculatedCost":"1"}', 'calculatedCost')).toBeUndefined()
  expect(parseAmount('cost', '1.50e1')).toBe('15')
  expect(parseAmount('cost', '-0')).toBe('0')
})

test.each([
  ['-0.01', 'must not be negative'],
  ['1e12', 'at most 12 digits'],
  ['1e400', 'at most 12 digits'],
  ['1e-13', 'at most 12 decimal places'],
  ['1e-400', 'at most 12 decimal places'],
])('refuses %s', (text, reason) => {
  expect(() => parseAmount('cost', text)).toThrow(reason)
})
