import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Model } from 'openai/resources/models'
import {
  completionOf,
  DEFAULT_USAGE,
  errorOf,
  eventsOf,
  type FakeContent,
  type FakeRequestBody,
} from './fake-openai/answers.ts'
import type { FakeBehaviour } from './fake-openai/behaviour.ts'
import { embeddingsOf } from './fake-openai/embeddings.ts'

export type { FakeBehaviour } from './fake-openai/behaviour.ts'

export interface FakeRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The bytes that came. */
  readonly body: Buffer
  /** True once the client broke the connection before the answer was complete. */
  aborted: boolean
}

export interface FakeOpenAiOptions {
  readonly port?: number
  /** What `/v1/models` lists; absent or false: it answers 404, as servers without a list do. */
  readonly models?: readonly string[] | false
  /** How every request is answered for which `next` was not called. */
  readonly behaviour?: FakeBehaviour
  /** Keeps the requests it got (true). Off for load tests. */
  readonly keepsRequests?: boolean
}

export interface FakeOpenAi extends AsyncDisposable {
  /** With `/v1`. */
  readonly url: string
  readonly requests: FakeRequest[]
  /** Faults for the coming requests, one each, in this order. */
  next(...behaviours: FakeBehaviour[]): void
  /** How all requests are answered from now on. */
  behave(behaviour: FakeBehaviour): void
  close(): Promise<void>
}

const DEFAULT_PIECES = ['Hello', ' from', ' the', ' fake', ' server', '.']

const contentOf = ({ pieces, usage, lineEnd }: FakeBehaviour): FakeContent => ({
  pieces: pieces ?? DEFAULT_PIECES,
  usage: usage === false ? undefined : (usage ?? DEFAULT_USAGE),
  lineEnd: lineEnd ?? '\n',
})

/** A real HTTP server that speaks OpenAI's wire format for models, chat completions and embeddings. */
export async function startFakeOpenAi(options: FakeOpenAiOptions = {}): Promise<FakeOpenAi> {
  const requests: FakeRequest[] = []
  const planned: FakeBehaviour[] = []
  let usual = options.behaviour ?? {}
  // Load tests send the same request over and over; rendering its answer once keeps the fake out of the figures.
  const rendered = new Map<string, Buffer>()

  function wholeAnswer(request: FakeRequestBody, behaviour: FakeBehaviour, isPlanned: boolean): Buffer {
    if (isPlanned) return completionOf(request, contentOf(behaviour))
    const key = `${request.model} ${request.n ?? 1} ${JSON.stringify(request.tools ?? null)}`
    let answer = rendered.get(key)
    if (answer === undefined) {
      answer = completionOf(request, contentOf(behaviour))
      rendered.set(key, answer)
    }
    return answer
  }

  async function serve(path: string, raw: Buffer, response: ServerResponse): Promise<void> {
    const next = planned.shift()
    const behaviour = next ?? usual
    if (behaviour.hang === true) return
    if (behaviour.delayMs !== undefined) await delay(behaviour.delayMs)
    if (behaviour.reset === true) {
      response.destroy()
      return
    }
    if (behaviour.status !== undefined || behaviour.body !== undefined) {
      answerAsTold(response, behaviour)
      return
    }
    if (path === '/v1/embeddings') {
      const embeddings = embeddingsOf(JSON.parse(raw.toString('utf8')), behaviour.usage !== false)
      answerWhole(response, embeddings)
      return
    }
    const request = JSON.parse(raw.toString('utf8')) as FakeRequestBody
    if (request.stream === true) {
      const told = behaviour.events === undefined ? undefined : [Buffer.from(behaviour.events)]
      await stream(response, told ?? eventsOf(request, contentOf(behaviour)), behaviour)
      return
    }
    answerWhole(response, wholeAnswer(request, behaviour, next !== undefined))
  }

  const server = createServer((message, response) => {
    const parts: Buffer[] = []
    message.on('data', (part: Buffer) => parts.push(part))
    message.on('end', () => {
      const body = Buffer.concat(parts)
      if (options.keepsRequests !== false) keep(message, response, body, requests)
      if (message.url === '/v1/models') answerModels(response, options.models ?? false)
      else if (SERVED.has(message.url ?? '')) void serve(message.url ?? '', body, response)
      else
        response
          .writeHead(404, JSON_TYPE)
          .end(errorOf('Unknown request URL', 'invalid_request_error', 'unknown_url'))
    })
  })
  server.keepAliveTimeout = 30_000
  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server, 'listening')
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    next: (...behaviours) => void planned.push(...behaviours),
    behave(behaviour) {
      usual = behaviour
      rendered.clear()
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

const SERVED = new Set(['/v1/chat/completions', '/v1/embeddings'])
const JSON_TYPE = { 'content-type': 'application/json' }
/** What OpenAI's answers carry, some of it not for others' eyes. */
const COMMON = {
  'openai-organization': 'org-secret',
  'openai-processing-ms': '12',
  'openai-version': '2020-10-01',
  'x-ratelimit-remaining-requests': '9999',
  'x-request-id': 'req_fake',
  'set-cookie': '__cf_bm=secret',
}

const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

function keep(
  message: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
  requests: FakeRequest[],
): void {
  const request: FakeRequest = {
    method: message.method ?? '',
    path: message.url ?? '',
    headers: message.headers,
    body,
    aborted: false,
  }
  requests.push(request)
  response.on('close', () => {
    request.aborted = !response.writableFinished
  })
}

function answerModels(response: ServerResponse, models: readonly string[] | false): void {
  if (models === false) {
    response.writeHead(404, JSON_TYPE).end('{}')
    return
  }
  const data = models.map((id): Model => ({ id, object: 'model', created: 1_700_000_000, owned_by: 'fake' }))
  response.writeHead(200, JSON_TYPE).end(JSON.stringify({ object: 'list', data }))
}

function answerWhole(response: ServerResponse, answer: Buffer): void {
  response.writeHead(200, {
    ...COMMON,
    'content-type': 'application/json',
    'content-length': answer.length,
  })
  response.end(answer)
}

function answerAsTold(response: ServerResponse, behaviour: FakeBehaviour): void {
  const status = behaviour.status ?? 200
  const body =
    behaviour.body ?? errorOf(`The fake was told to answer ${status}`, typeOf(status), codeOf(status))
  response.writeHead(status, {
    ...COMMON,
    'content-type': behaviour.contentType ?? 'application/json',
    ...(behaviour.contentEncoding === undefined ? {} : { 'content-encoding': behaviour.contentEncoding }),
    ...(behaviour.retryAfter === undefined ? {} : { 'retry-after': String(behaviour.retryAfter) }),
  })
  response.end(body)
}

const typeOf = (status: number): string =>
  status === 429 ? 'requests' : status >= 500 ? 'server_error' : 'invalid_request_error'
const codeOf = (status: number): string | null => (status === 429 ? 'rate_limit_exceeded' : null)

async function stream(
  response: ServerResponse,
  events: readonly Buffer[],
  behaviour: FakeBehaviour,
): Promise<void> {
  response.writeHead(200, { ...COMMON, 'content-type': 'text/event-stream; charset=utf-8' })
  const last = behaviour.cutAfter ?? behaviour.endAfter ?? events.length
  const parts = inParts(events.slice(0, last), behaviour.writeBytes)
  response.flushHeaders()
  for (const part of parts) {
    if (response.destroyed) return
    if (!response.write(part)) await drained(response)
    await behaviour.held
    if (behaviour.intervalMs !== undefined) await delay(behaviour.intervalMs)
  }
  if (behaviour.cutAfter !== undefined) {
    // What was written must leave first: the test counts on these chunks.
    await delay(20)
    response.destroy()
  } else response.end()
}

/** Resolves when the client took what was written, or went away. */
const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.on('drain', done).on('close', done)
  })

function inParts(events: readonly Buffer[], bytes: number | undefined): readonly Buffer[] {
  if (bytes === undefined) return events
  const all = Buffer.concat(events)
  return Array.from({ length: Math.ceil(all.length / bytes) }, (_, i) =>
    all.subarray(i * bytes, (i + 1) * bytes),
  )
}
