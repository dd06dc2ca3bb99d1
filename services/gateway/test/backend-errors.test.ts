import { afterAll, beforeAll, expect, test } from 'vitest'
import { embed } from './embed.ts'
import { hello, OPERATOR_KEY, startWithFake } from './platform.ts'

let gateway: Awaited<ReturnType<typeof startWithFake>>
beforeAll(async () => {
  gateway = await startWithFake()
})
afterAll(() => gateway[Symbol.asyncDispose]())

const TOO_LONG = 'the request exceeds the available context size (512 tokens), try increasing it'

test.each<[string, number, unknown, object]>([
  [
    'llama.cpp',
    400,
    {
      error: {
        code: 400,
        message: TOO_LONG,
        type: 'exceed_context_size_error',
        n_prompt_tokens: 900,
        n_ctx: 512,
      },
    },
    { message: TOO_LONG, type: 'exceed_context_size_error', param: null, code: '400', n_ctx: 512 },
  ],
  [
    'vLLM',
    400,
    {
      object: 'error',
      message: "This model's maximum context length is 2048 tokens.",
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
    {
      message: "This model's maximum context length is 2048 tokens.",
      type: 'BadRequestError',
      param: null,
      code: '400',
    },
  ],
  [
    'vLLM as of late',
    400,
    {
      error: { message: 'max_tokens is too large', type: 'BadRequestError', param: 'max_tokens', code: 400 },
    },
    { message: 'max_tokens is too large', type: 'BadRequestError', param: 'max_tokens', code: '400' },
  ],
  [
    'Ollama',
    500,
    { error: 'model requires more system memory (8.4 GiB) than is available (3.1 GiB)' },
    {
      message: 'model requires more system memory (8.4 GiB) than is available (3.1 GiB)',
      type: 'server_error',
      param: null,
      code: null,
    },
  ],
  [
    'FastAPI',
    422,
    { detail: [{ type: 'missing', loc: ['body', 'messages', 0, 'role'], msg: 'Field required', input: {} }] },
    {
      message: 'messages[0].role: Field required',
      type: 'invalid_request_error',
      param: 'messages[0].role',
      code: 'missing',
    },
  ],
  [
    'FastAPI in one sentence',
    503,
    { detail: 'The model is still loading' },
    { message: 'The model is still loading', type: 'server_error', param: null, code: null },
  ],
  [
    'an error within the detail',
    429,
    { detail: { error: { message: 'Slow down', code: 'busy' } } },
    { message: 'Slow down', type: 'rate_limit_error', param: null, code: 'busy' },
  ],
])('an error of %s keeps its message, type and code', async (_name, status, body, error) => {
  const answers = []
  for (const ask of [
    () => gateway.chat(hello),
    () => gateway.chat({ ...hello, stream: true }),
    () => embed(gateway, { model: 'text-embedding-3-small', input: 'a' }),
  ]) {
    gateway.fake.next({ status, body: JSON.stringify(body) })
    answers.push(await ask())
  }
  for (const answer of answers) {
    expect(answer.status).toBe(status)
    expect(answer.body).toMatchObject({ error })
    expect(answer.headers.get('content-type')).toBe('application/json')
  }
})

test.each<[string, string, string, string | RegExp]>([
  ['plain text', 'upstream connect error\n', 'text/plain; charset=utf-8', 'upstream connect error'],
  ['a page', '<html>Bad gateway</html>', 'text/html', /answered with status 400/],
  ['nothing', '', 'application/json', /answered with status 400/],
  ['a list', '[1]', 'application/json', /answered with status 400/],
  ['a message that is none', '{"error":{"message":5}}', 'application/json', /answered with status 400/],
  [
    'the operator’s key',
    JSON.stringify({ detail: `key ${OPERATOR_KEY}` }),
    'application/json',
    /answered with status 400/,
  ],
  ['a long story', JSON.stringify({ detail: 'x'.repeat(10_000) }), 'application/json', /^x{4096}…$/],
])('of %s a client sees what it may', async (_name, body, contentType, message) => {
  gateway.fake.next({ status: 400, body, contentType })
  const answer = await gateway.chat(hello)
  expect(answer.status).toBe(400)
  expect(answer.body.error).toMatchObject({ type: 'invalid_request_error', param: null })
  if (typeof message === 'string') expect(answer.body.error.message).toBe(message)
  else expect(answer.body.error.message).toMatch(message)
})
