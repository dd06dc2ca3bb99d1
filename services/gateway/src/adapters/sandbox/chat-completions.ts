import { createHash } from 'node:crypto'
import type { ChatCompletionRequest } from '../../contract/chat-completions.ts'
import type { BackendAnswer, ChatCall } from '../../domain/backend.ts'
import { promptOf, roughCount } from '../../domain/token-counter.ts'
import { SandboxStream } from './stream.ts'

/** Pieces of this many characters stand for a token, as with English text and real models. */
const CHARS_PER_TOKEN = 4

interface Choice {
  readonly pieces: readonly string[]
  readonly finishReason: 'stop' | 'length'
}

export async function chatCompletions({ raw, request }: ChatCall): Promise<BackendAnswer> {
  const choices = Array.from({ length: request.n ?? 1 }, (_, index) => choiceOf(request, index))
  const { text, framing } = promptOf(request)
  const prompt = roughCount(text) + framing
  const completion = choices.reduce((sum, choice) => sum + choice.pieces.length, 0)
  const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
  const head = {
    id: `chatcmpl-sandbox-${createHash('sha256').update(raw).digest('hex').slice(0, 24)}`,
    created: Math.floor(Date.now() / 1000),
    model: request.model,
  }
  if (request.stream === true) {
    const events = eventsOf(choices, head, usage)
    return {
      kind: 'stream',
      headers: { 'content-type': 'text/event-stream; charset=utf-8' },
      stream: new SandboxStream(events),
    }
  }
  const body = {
    ...head,
    object: 'chat.completion',
    choices: choices.map(({ pieces, finishReason }, index) => ({
      index,
      message: { role: 'assistant', content: pieces.join(''), refusal: null },
      logprobs: null,
      finish_reason: finishReason,
    })),
    usage,
  }
  return {
    kind: 'whole',
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(body)),
  }
}

function choiceOf(request: ChatCompletionRequest, index: number): Choice {
  const question = lastUserText(request)
  const nth = index === 0 ? '' : ` (choice ${index + 1})`
  const text = `[sandbox]${nth} No model was called. You asked ${request.model}: ${question}`
  const pieces = text.match(new RegExp(`.{1,${CHARS_PER_TOKEN}}`, 'gsu')) ?? []
  const limit = request.max_completion_tokens ?? request.max_tokens ?? pieces.length
  return limit < pieces.length
    ? { pieces: pieces.slice(0, limit), finishReason: 'length' }
    : { pieces, finishReason: 'stop' }
}

function lastUserText({ messages }: ChatCompletionRequest): string {
  const content = messages.findLast(({ role }) => role === 'user')?.content ?? ''
  const text =
    typeof content === 'string'
      ? content
      : content.map((part) => ('text' in part ? String(part.text) : '')).join(' ')
  return text.length > 400 ? `${text.slice(0, 400)}…` : text
}

function* eventsOf(
  choices: readonly Choice[],
  head: { id: string; created: number; model: string },
  usage: object,
): Generator<string> {
  const chunk = (fields: object): string =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', usage: null, ...fields })}\n\n`
  const delta = (index: number, content: object, finishReason: string | null = null): string =>
    chunk({ choices: [{ index, delta: content, logprobs: null, finish_reason: finishReason }] })
  for (const [index, { pieces, finishReason }] of choices.entries()) {
    yield delta(index, { role: 'assistant', content: '', refusal: null })
    for (const content of pieces) yield delta(index, { content })
    yield delta(index, {}, finishReason)
  }
  yield chunk({ choices: [], usage })
  yield 'data: [DONE]\n\n'
}
