import { describe, expect, it } from 'vitest'
import { parseJson } from './json.ts'
import { parseJsonInPieces } from './json-pieces.ts'

const inPieces = (text: string, isLenient = false): Promise<unknown> =>
  parseJsonInPieces(Buffer.from(text), () => undefined, { isLenient })

const LONG = 'ä"\\,[]{}€𝄞'.repeat(20_000)
const numbers = Array.from({ length: 100_000 }, (_, n) => n)
const texts = Array.from({ length: 3000 }, (_, n) => `${n} [{"\\ ${'word '.repeat(30)}`)

describe('JSON in pieces', () => {
  it.each([
    ['a small value', { a: [1, 'b', null] }],
    ['many numbers', numbers],
    ['many texts in an object', { model: 'm', input: texts, user: 'u' }],
    ['lists of lists', { model: 'm', input: [numbers, [1], numbers], last: true }],
    ['deep ones', { a: { b: { c: { d: { e: numbers } } } }, f: texts }],
    ['long texts and keys', { [LONG.slice(0, 990)]: LONG, list: [LONG, 'x', LONG], '': 0 }],
    ['many keys', Object.fromEntries(numbers.map((n) => [`k${n}`, { n }]))],
    ['keys that come twice', { constructor: texts, b: { constructor: 1 } }],
  ])('is the same as at once: %s', async (_name, value) => {
    for (const text of [JSON.stringify(value), `  ${JSON.stringify(value, null, 1)}\n`]) {
      expect(await inPieces(text)).toEqual(parseJson(Buffer.from(text)))
    }
  })

  it('pauses often', async () => {
    let pauses = 0
    const body = Buffer.from(JSON.stringify({ input: texts }))
    await parseJsonInPieces(body, async () => {
      pauses += 1
    })
    expect(pauses).toBeGreaterThan(body.length / 300_000)
  })

  const many = JSON.stringify(texts)
  it.each([
    ['no end', many.slice(0, -1)],
    ['no end of a text', many.slice(0, -2)],
    ['the wrong end', `${many.slice(0, -1)}}`],
    ['a comma at the end', `${many.slice(0, -1)},]`],
    ['a comma at the beginning', `[,${many.slice(1)}`],
    ['two commas', `[${many.slice(1, -1)},,1]`],
    ['more behind it', `${many}]`],
    ['more behind it, of its own', `${many} {}`],
    ['brackets that do not fit', `[${many.slice(1, -1)},[1},{2]]`],
    ['a value without a key', `{"a":1,${many}}`],
    ['a key without a value', `{"a":${many},"b"}`],
    ['a key that is a number', `{"a":1,2:${many}}`],
    ['no colon', `{"a"${many}}`],
    ['an open list inside', `{"a":${many},"b":[${many}}`],
    ['words', `{"a":${many},"b":truth}`],
  ])('refuses %s', async (_name, text) => {
    expect(() => JSON.parse(text)).toThrow()
    await expect(inPieces(text)).rejects.toMatchObject({ status: 400, code: 'invalid_json' })
  })

  it.each([
    ['a key that sets a prototype', `{"a":${many},"b":{"__proto__":1}}`],
    ['a large one', `{"a":{"__proto__":${many}}}`],
    ['a constructor', `{"a":{"constructor":{"prototype":${many}}}}`],
    ['half of a pair', `{"a":${many},"b":"\\ud800"}`],
    ['half of a pair in a key', `{"a":${many},"\\ud800":${many}}`],
  ])('refuses %s, unless it is to be lenient', async (_name, text) => {
    await expect(inPieces(text)).rejects.toMatchObject({ code: 'invalid_input', field: 'body' })
    expect(await inPieces(text, true)).toEqual(parseJson(Buffer.from(text), { isLenient: true }))
  })

  it('refuses bytes that are no UTF-8', async () => {
    const body = Buffer.concat([Buffer.from(`{"a":${many},"b":"`), Buffer.from([0xff]), Buffer.from('"}')])
    await expect(parseJsonInPieces(body, () => undefined)).rejects.toMatchObject({ code: 'invalid_json' })
  })

  it.each([`{"__proto__":${many},"b":1}`, `{"constructor":{"prototype":${many}},"b":1}`])(
    'ignores at the top what it refuses below: %.20s',
    async (text) => {
      expect(await inPieces(text)).toEqual({ b: 1 })
      expect(parseJson(Buffer.from(text))).toEqual({ b: 1 })
    },
  )

  it('drops keys that set prototypes where it is lenient, wherever they stand', async () => {
    const text = `{"__proto__":${many},"a":{"__proto__":{"x":1}},"constructor":{"prototype":${many}},"b":{"constructor":{"prototype":1}},"big":${many}}`
    const value = await inPieces(text, true)
    expect(value).toEqual(parseJson(Buffer.from(text), { isLenient: true }))
    expect(Object.keys(value as object)).toEqual(['a', 'b', 'big'])
  })

  it('refuses NUL characters and deep nesting as at once', async () => {
    await expect(inPieces(`{"a":${many},"b":"\\u0000"}`)).rejects.toMatchObject({ code: 'invalid_input' })
    const deep = (levels: number) => `{"a":${many},"b":${'['.repeat(levels)}${']'.repeat(levels)}}`
    for (const levels of [62, 63, 64, 65]) {
      const atOnce = (): unknown => parseJson(Buffer.from(deep(levels)))
      if (levels < 64) expect(await inPieces(deep(levels))).toEqual(atOnce())
      else {
        expect(atOnce).toThrow()
        await expect(inPieces(deep(levels))).rejects.toMatchObject({ code: 'json_too_deep' })
      }
    }
  })
})
