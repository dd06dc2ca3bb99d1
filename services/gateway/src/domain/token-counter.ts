import { Worker } from 'node:worker_threads'
import type { ChatCompletionRequest } from '../contract/chat-completions.ts'

/** Counting, the thread's start included, is given up after this long; then four characters count as a token. */
const PATIENCE_MS = 10_000
/** Text that waits to be counted, in characters, before the rule of thumb takes over. */
const MAX_WAITING = 16 * 1024 * 1024
/** What OpenAI's format adds to each message, and to the whole. */
const TOKENS_PER_MESSAGE = 3
const TOKENS_PER_REPLY = 3
/** OpenAI's rule: a picture in low detail, and one of 1,024 × 1,024 otherwise, for sizes are not looked up. */
const TOKENS_PER_SMALL_PICTURE = 85
const TOKENS_PER_PICTURE = 765

/** Tokens of text, roughly, without a tokenizer. */
export const roughCount = (text: string): number => Math.ceil(text.length / 4)

export interface TokenCounter {
  /** Tokens of `text` in o200k_base. Never rejects. */
  count(text: string): Promise<number>
  close(): Promise<void>
}

/**
 * Counts on a thread of its own, which starts on the first use: neither loading the vocabulary (100 ms)
 * nor a long text ever holds up the answers of others.
 */
export function createTokenCounter(): TokenCounter {
  const waiting = new Map<number, (tokens: number) => void>()
  let worker: Worker | undefined
  let lastId = 0
  let waitingChars = 0

  function start(): Worker {
    const started = new Worker(new URL('./token-counter.worker.ts', import.meta.url))
    started.on('message', ([id, tokens]: [number, number]) => waiting.get(id)?.(tokens))
    // Whoever waits falls back to the rule of thumb; the next text starts another thread.
    started.on('error', () => {
      worker = undefined
    })
    started.unref()
    return started
  }

  return {
    async count(text) {
      if (text === '') return 0
      if (waitingChars + text.length > MAX_WAITING) return roughCount(text)
      worker ??= start()
      const id = ++lastId
      waitingChars += text.length
      const counting = worker
      return new Promise<number>((resolve) => {
        const settle = (tokens: number): void => {
          clearTimeout(timer)
          waiting.delete(id)
          waitingChars -= text.length
          resolve(tokens)
        }
        const timer = setTimeout(() => settle(roughCount(text)), PATIENCE_MS)
        waiting.set(id, settle)
        counting.postMessage([id, text])
      })
    },
    async close() {
      await worker?.terminate()
      for (const settle of waiting.values()) settle(0)
    },
  }
}

/** What a model reads of a request: text, and the tokens that are known without counting it. */
export interface Prompt {
  readonly text: string
  readonly framing: number
}

const tokensOfPicture = (image: unknown): number =>
  typeof image === 'object' && image !== null && 'detail' in image && image.detail === 'low'
    ? TOKENS_PER_SMALL_PICTURE
    : TOKENS_PER_PICTURE

/** Everything in a chat that a model reads as text, and the tokens that its framing adds. */
export function promptOf(request: ChatCompletionRequest): Prompt {
  const parts: string[] = []
  let pictures = 0
  for (const { role, content, name, tool_calls: toolCalls } of request.messages) {
    parts.push(role)
    if (typeof content === 'string') parts.push(content)
    else
      for (const part of content ?? []) {
        if ('text' in part) parts.push(String(part.text))
        else if ('image_url' in part) pictures += tokensOfPicture(part.image_url)
      }
    if (name) parts.push(name)
    if (toolCalls) parts.push(JSON.stringify(toolCalls))
  }
  if (request.tools) parts.push(JSON.stringify(request.tools))
  return {
    text: parts.join('\n'),
    framing: request.messages.length * TOKENS_PER_MESSAGE + TOKENS_PER_REPLY + pictures,
  }
}
