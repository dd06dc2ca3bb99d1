import { describe, expect, it } from 'vitest'
import { jsonText } from './json.ts'

describe('jsonText', () => {
  it.each([
    ['plain', 'a "b" \\ c'],
    ['a whole pair', '😀'],
    ['an escaped backslash before what looks like half a pair', '\\ud800'],
    ['several of them', '\\\\ud800\\udbff'],
  ])('leaves %s as it is', (_what, value) => {
    expect(JSON.parse(jsonText({ value }))).toEqual({ value })
  })

  it('replaces half a pair, in keys too', () => {
    expect(JSON.parse(jsonText({ 'k\ud800': ['\udfffa', '\\\ud83d', 1] }))).toEqual({
      'k\ufffd': ['\ufffda', '\\\ufffd', 1],
    })
  })
})
