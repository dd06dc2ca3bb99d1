import { expect, test } from 'vitest'
import { EventScanner } from './event-scanner.ts'

function scan(...chunks: (string | Buffer)[]) {
  const texts: string[] = []
  const scanner = new EventScanner((text) => texts.push(text))
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
