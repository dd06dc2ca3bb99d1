import type { ChatCompletion, ChatCompletionChunk } from 'openai/resources/chat/completions'
import type { CompletionUsage } from 'openai/resources/completions'
import type { ErrorObject } from 'openai/resources/shared'

/** What the fake reads of a request. */
export interface FakeRequestBody {
  readonly model: string
  readonly n?: number | null
  readonly stream?: boolean | null
  readonly stream_options?: { include_usage?: boolean } | null
  readonly tools?: readonly { function?: { name?: string } }[] | null
}

/** What the fake says. */
export interface FakeContent {
  /** The text, one piece a chunk. */
  readonly pieces: readonly string[]
  readonly usage: CompletionUsage | undefined
  readonly lineEnd: '\n' | '\r\n' | '\r'
}

const ID = 'chatcmpl-fake'
const CREATED = 1_767_225_600

export const DEFAULT_USAGE: CompletionUsage = {
  prompt_tokens: 20,
  completion_tokens: 10,
  total_tokens: 30,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
}

const toolOf = (request: FakeRequestBody): string | undefined => request.tools?.[0]?.function?.name

/** A complete answer, with a tool call where the request offers tools. */
export function completionOf(request: FakeRequestBody, content: FakeContent): Buffer {
  const tool = toolOf(request)
  const completion: ChatCompletion = {
    id: ID,
    object: 'chat.completion',
    created: CREATED,
    model: request.model,
    choices: Array.from({ length: request.n ?? 1 }, (_, index) => ({
      index,
      message: {
        role: 'assistant',
        content: tool === undefined ? content.pieces.join('') : null,
        refusal: null,
        ...(tool === undefined
          ? {}
          : {
              tool_calls: [
                {
                  id: `call_${index}`,
                  type: 'function',
                  function: { name: tool, arguments: '{"city":"Praha"}' },
                },
              ],
            }),
      },
      logprobs: null,
      finish_reason: tool === undefined ? 'stop' : 'tool_calls',
    })),
    ...(content.usage === undefined ? {} : { usage: content.usage }),
    service_tier: 'default',
    system_fingerprint: 'fp_fake',
  }
  return Buffer.from(JSON.stringify(completion))
}

type Delta = ChatCompletionChunk.Choice.Delta

function deltasOf(tool: string | undefined, content: FakeContent): Delta[] {
  if (tool === undefined) return content.pieces.map((piece) => ({ content: piece }))
  return [
    { tool_calls: [{ index: 0, id: 'call_0', type: 'function', function: { name: tool, arguments: '' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '"Praha"}' } }] },
  ]
}

/** The events of a streamed answer, ready to be sent; the last is `[DONE]`. */
export function eventsOf(request: FakeRequestBody, content: FakeContent): Buffer[] {
  const includesUsage = request.stream_options?.include_usage === true && content.usage !== undefined
  const tool = toolOf(request)
  const event = (chunk: Pick<ChatCompletionChunk, 'choices' | 'usage'>): Buffer => {
    const full: ChatCompletionChunk = {
      id: ID,
      object: 'chat.completion.chunk',
      created: CREATED,
      model: request.model,
      service_tier: 'default',
      system_fingerprint: 'fp_fake',
      ...(includesUsage ? { usage: null } : {}),
      ...chunk,
    }
    return Buffer.from(`data: ${JSON.stringify(full)}${content.lineEnd}${content.lineEnd}`)
  }
  const events: Buffer[] = []
  for (let index = 0; index < (request.n ?? 1); index++) {
    const choice = (delta: Delta, reason: ChatCompletionChunk.Choice['finish_reason'] = null): Buffer =>
      event({ choices: [{ index, delta, logprobs: null, finish_reason: reason }] })
    events.push(choice({ role: 'assistant', content: '', refusal: null }))
    for (const delta of deltasOf(tool, content)) events.push(choice(delta))
    events.push(choice({}, tool === undefined ? 'stop' : 'tool_calls'))
  }
  if (includesUsage && content.usage !== undefined) events.push(event({ choices: [], usage: content.usage }))
  events.push(Buffer.from(`data: [DONE]${content.lineEnd}${content.lineEnd}`))
  return events
}

export function errorOf(
  message: string,
  type: string,
  code: string | null,
  param: string | null = null,
): Buffer {
  const error: ErrorObject = { message, type, param, code }
  return Buffer.from(JSON.stringify({ error }))
}
