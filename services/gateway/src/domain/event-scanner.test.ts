import { expect, test } from 'vitest'
import { EventScanner, MAX_EVENT_BYTES } from './event-scanner.ts'

const scan = (...chunks: (string | Buffer)[]) => scanFor({ hidesUsage: false }, chunks)

function scanFor({ hidesUsage }: { hidesUsage: boolean }, chunks: readonly (string | Buffer)[]) {
  const texts: string[] = []
  const scanner = new EventScanner((text) => texts.push(text), hidesUsage)
  const passed = chunks.map((chunk) => scanner.push(Buffer.from(chunk)).toString('utf8'))
  return { scanner, texts, passed }
}
const event = (delta: string, finish = 'null') =>
  `data: {"model":"m","choices":[{"index":0,"delta":${delta},"finish_reason":${finish}}]}\n\n`

test('whole events pass; half of one waits', () => {
  const one = event('{"content":"ž"}')
  const bytes = Buffer.from(one + one)
  const cut = one.length + 4
  expect(scan(bytes.subarray(0, cut), bytes.subarray(cut)).passed).toEqual([one, one])
  expect(scan('data: 1\r\n\r\ndata: 2\r\n').passed).toEqual(['data: 1\r\n\r\n'])
})

test.each([
  ['plain', '{"content":"hello"}', ['hello']],
  ['UTF-8', '{"content":"žluťoučký 🦊"}', ['žluťoučký 🦊']],
  ['escapes', '{"content":"a\\n\\"b\\" \\u017e"}', ['a\n"b" ž']],
  ['spaces', '{ "content" : "x" }', ['x']],
  ['nothing', '{"content":""}', []],
  ['reasoning', '{"reasoning_content":"r","content":"c"}', ['r', 'c']],
  ['tool calls', '{"tool_calls":[{"function":{"name":"f","arguments":"{\\"a\\":1}"}}]}', ['f', '{"a":1}']],
  [
    'signs inside of text',
    '{"content":"\\"usage\\":{\\"prompt_tokens\\":1} \\"finish_reason\\":\\"stop\\" data: [DONE]"}',
    ['"usage":{"prompt_tokens":1} "finish_reason":"stop" data: [DONE]'],
  ],
])('text: %s', (_name, delta, texts) => {
  const found = scan(event(delta))
  expect(found.texts).toEqual(texts)
  expect(found.scanner).toMatchObject({ isFinished: false, isDone: false, usage: undefined })
})

test('long text is as the backend wrote it', () => {
  const text = 'žluťoučký "🦊"\n'.repeat(1000)
  expect(scan(event(JSON.stringify({ content: text })), event('{"content":"a"}')).texts).toEqual([text, 'a'])
})

test('the signs of an end', () => {
  expect(scan(event('{}', '"stop"')).scanner).toMatchObject({ isFinished: true, isDone: false })
  expect(scan('data: {"choices":[{"finish_reason" : "length"}]}\n\n').scanner.isFinished).toBe(true)
  expect(scan(event('{"content":"a"}') + event('{}', '"stop"')).scanner.isFinished).toBe(true)
  for (const done of ['data: [DONE]\n\n', 'data:[DONE]\n\n', 'data: [DONE]\r\n\r\n']) {
    expect(scan(event('{"content":"a"}') + done).scanner).toMatchObject({ isFinished: true, isDone: true })
  }
})

test('usage is the last that was given', () => {
  const usage = (tokens: number) =>
    `data: {"choices":[],"usage":{"prompt_tokens":${tokens},"completion_tokens":2}}\n\n`
  expect(scan(usage(1), usage(5), 'data: {"usage":null}\n\n').scanner.usage).toMatchObject({
    promptTokens: 5,
    completionTokens: 2,
  })
})

const END = '{"prompt_tokens":7,"completion_tokens":2}'

test.each([
  ['null at the end', '{"id":1,"choices":[{}],"usage":null}', '{"id":1,"choices":[{}]}'],
  ['null in between', '{"id":1, "usage" : null , "choices":[{}]}', '{"id":1 , "choices":[{}]}'],
  ['null at the front', '{ "usage":null, "choices":[{}]}', '{ "choices":[{}]}'],
  ['null alone', '{"usage":null}', '{}'],
  ['null of something else', '{"x":{"usage":null},"choices":[{}]}', undefined],
  ['a tool', '{"choices":[{"delta":{"tool_calls":[{"function":{"name":"usage"}}]}}]}', undefined],
  ['text', '{"choices":[{"delta":{"content":"\\"usage\\":null"}}]}', undefined],
  ['figures beside choices', `{"choices":[{"delta":{}}],"usage":${END}}`, undefined],
  ['figures of something else', `{"metadata":{"usage":${END}},"choices":[]}`, undefined],
  ['figures', `{"choices":[ ],"usage":${END},"obfuscation":"x"}`, ''],
  ['figures without choices', `{"usage":${END}}`, ''],
  ['broken', '{"usage":', undefined],
])('usage that was not asked for: %s', (_name, data, left) => {
  for (const end of ['\n', '\r\n', '\r']) {
    const chunk = (json: string): string => (json === '' ? '' : `: c${end}data: ${json}${end}${end}`)
    const all = chunk('{"choices":[]}') + chunk(data) + chunk('{"choices":[]}')
    const expected = chunk('{"choices":[]}') + chunk(left ?? data) + chunk('{"choices":[]}')
    for (const bytes of [1, 2, 3, 5, 1000]) {
      const pieces = Array.from({ length: Math.ceil(all.length / bytes) }, (_, i) =>
        all.slice(i * bytes, (i + 1) * bytes),
      )
      const hiding = scanFor({ hidesUsage: true }, pieces)
      expect(hiding.passed.join('') + hiding.scanner.rest()).toBe(expected)
      const showing = scanFor({ hidesUsage: false }, pieces)
      expect(showing.passed.join('') + showing.scanner.rest()).toBe(all)
      const isSaid = data.includes(`"usage":${END}`) && !data.includes('metadata')
      expect(hiding.scanner.usage?.promptTokens).toBe(isSaid ? 7 : undefined)
      expect(showing.scanner.usage).toEqual(hiding.scanner.usage)
    }
  }
})

test('usage on several lines of data is read', () => {
  const event = `data: {"choices":[],\ndata: "usage":${END}}\n\n`
  const { scanner, passed } = scanFor({ hidesUsage: true }, [event])
  expect([scanner.usage?.promptTokens, passed]).toEqual([7, ['']])
})

test.each(['\n', '\r\n', '\r'])('an event passes with its last byte, lines ending with %j', (end) => {
  const one = `data: 1${end}${end}`
  const bytes = [...one].concat([...one])
  const arrived = scan(...bytes)
    .passed.map((text, i) => (text === '' ? -1 : i))
    .filter((i) => i !== -1)
  expect(arrived[0]).toBe(end === '\r\n' ? one.length - 2 : one.length - 1)
})

test('an event in tiny pieces takes no longer than its bytes', () => {
  const scanner = new EventScanner(() => {}, true)
  const piece = Buffer.from('x'.repeat(16))
  // Joined and searched anew for each piece, this took hours.
  for (let bytes = 0; bytes < MAX_EVENT_BYTES; bytes += 16) scanner.push(piece)
  expect(scanner.isTooLong).toBe(false)
  scanner.push(piece)
  expect(scanner.isTooLong).toBe(true)
})
