import { describe, expect, test } from 'vitest'
import { jsonMembers, replaceMembers } from './json-members.ts'

const MODEL = new Map([['model', '"gpt-4.1"']])
const replaced = (text: string): string => replaceMembers(Buffer.from(text), MODEL).toString()

describe('replaceMembers', () => {
  test.each([
    ['plain', '{"model":"a","x":1}', '{"model":"gpt-4.1","x":1}'],
    ['whitespace', '{ \n"model"\t : \r\n "a" , "x":1 }', '{ \n"model"\t : \r\n "gpt-4.1" , "x":1 }'],
    ['escaped key', '{"\\u006dodel":"a"}', '{"\\u006dodel":"gpt-4.1"}'],
    ['escaped value', '{"model":"a\\"b\\\\"}', '{"model":"gpt-4.1"}'],
    ['twice', '{"model":"a","model":"b"}', '{"model":"gpt-4.1","model":"gpt-4.1"}'],
    ['last', '{"messages":[{"model":"a"}],"model":"b"}', '{"messages":[{"model":"a"}],"model":"gpt-4.1"}'],
    ['nested', '{"metadata":{"model":"a"},"model":"b"}', '{"metadata":{"model":"a"},"model":"gpt-4.1"}'],
    [
      'as value',
      '{"user":"model","a":["model"],"model":"b"}',
      '{"user":"model","a":["model"],"model":"gpt-4.1"}',
    ],
    [
      'inside text',
      '{"user":"\\"model\\":\\"x\\"","model":"b"}',
      '{"user":"\\"model\\":\\"x\\"","model":"gpt-4.1"}',
    ],
    ['UTF-8', '{"user":"žluťoučký 🦊","model":"b","é":1}', '{"user":"žluťoučký 🦊","model":"gpt-4.1","é":1}'],
    ['no text', '{"model":{"a":[1,"}"]} ,"x":1}', '{"model":"gpt-4.1" ,"x":1}'],
    ['absent', ' { "x":1}', ' {"model":"gpt-4.1", "x":1}'],
    ['similar keys', '{"mode":"a","models":"b","model":"c"}', '{"mode":"a","models":"b","model":"gpt-4.1"}'],
  ])('%s', (_name, before, after) => {
    expect(replaced(before)).toBe(after)
  })
})

const named = (text: string) =>
  [...jsonMembers(Buffer.from(text))].map(
    (member) => member && [member.name, text.slice(member.valueStart, member.end)],
  )

test('members are found past texts and lists of any length', () => {
  const long = JSON.stringify('\\"\\\\ '.repeat(40) + 'x'.repeat(100) + '\\'.repeat(99))
  expect(named(`{"a":${long},"b":[${long},{"c":1}] ,"d":null}`)).toEqual([
    ['a', long],
    ['b', `[${long},{"c":1}]`],
    ['d', 'null'],
  ])
  const numbers = JSON.stringify(Array.from({ length: 100_000 }, (_, i) => i))
  const found = named(`{"input":${numbers},"model":"m"}`)
  expect(found.filter((one) => one === undefined).length).toBeGreaterThan(2)
  expect(found.filter((one) => one !== undefined)).toEqual([
    ['input', numbers],
    ['model', '"m"'],
  ])
})

test.each(['', '[', '{', '{"a', '{"a"', '{"a":', '{"a":[1', '{"a":"\\', '{"\\x":1', '{"a" 1}', '"a"', '{}'])(
  'what is no object, or broken, has an end: %s',
  (text) => {
    expect(named(text).length).toBeLessThan(2)
  },
)
