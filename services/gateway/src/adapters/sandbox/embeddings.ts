import { setImmediate } from 'node:timers/promises'
import type { BackendAnswer, EmbeddingsCall } from '../../domain/backend.ts'
import { inputsOf } from '../../domain/embeddings-request.ts'
import { roughCount } from '../../domain/token-counter.ts'
import { callerGone } from '../../errors.ts'
import { vectorOf } from './text-vector.ts'

/** For models that do not say how long their vectors are. */
const USUAL_DIMENSIONS = 1536
/** Characters between two breaks, in which others are served. */
const CHARS_PER_TURN = 20_000

export async function embeddings(call: EmbeddingsCall): Promise<BackendAnswer> {
  const { request, modelDimensions, cancellation } = call
  const dimensions = request.dimensions ?? modelDimensions ?? USUAL_DIMENSIONS
  const isBase64 = request.encoding_format === 'base64'
  const parts: string[] = []
  let tokens = 0
  let chars = 0
  for (const [index, input] of inputsOf(request).entries()) {
    const text = typeof input === 'string' ? input : await textOf(input)
    tokens += typeof input === 'string' ? roughCount(text) : input.length
    const vector = vectorOf(text, dimensions)
    const embedding = isBase64 ? JSON.stringify(base64Of(vector)) : `[${vector.join(',')}]`
    parts.push(`{"object":"embedding","index":${index},"embedding":${embedding}}`)
    chars += text.length
    if (chars >= CHARS_PER_TURN) {
      chars = 0
      await setImmediate()
      if (cancellation.isCancelled) throw callerGone()
    }
  }
  const rest = JSON.stringify({
    model: request.model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  })
  return {
    kind: 'whole',
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(`{"object":"list","data":[${parts.join(',')}],${rest.slice(1)}`),
  }
}

/** 32-bit floats, little-endian whatever this machine's order is. */
function base64Of(vector: Float32Array): string {
  const bytes = Buffer.allocUnsafe(vector.length * 4)
  for (let i = 0; i < vector.length; i++) bytes.writeFloatLE(vector[i] ?? 0, i * 4)
  return bytes.toString('base64')
}

/** The text of token numbers: clients that count tokens send these, and mean the same as with the text. */
async function textOf(tokens: readonly number[]): Promise<string> {
  // Loaded on first use: the vocabulary takes 100 ms.
  const { decode } = await import('gpt-tokenizer/encoding/cl100k_base')
  try {
    return decode(tokens)
  } catch {
    return tokens.join(' ')
  }
}
