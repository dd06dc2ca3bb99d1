import { describe, expect, test } from 'vitest'
import { replaceModel } from './model-name.ts'

const replaced = (text: string): string => replaceModel(Buffer.from(text), 'gpt-4.1').toString()

describe('replaceModel', () => {
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
    ['similar keys', '{"mode":"a","models":"b","model":"c"}', '{"mode":"a","models":"b","model":"gpt-4.1"}'],
  ])('%s', (_name, before, after) => {
    expect(replaced(before)).toBe(after)
  })
})
