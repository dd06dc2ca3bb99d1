import type { CreateEmbeddingResponse, EmbeddingCreateParams } from 'openai/resources/embeddings'

const DEFAULT_DIMENSIONS = 1536

/** Numbers that depend on the text alone, exact as 32-bit floats. */
function vectorOf(input: string, dimensions: number): number[] {
  let state = 1
  for (const char of input) state = (Math.imul(state, 31) + (char.codePointAt(0) ?? 0)) >>> 0
  return Array.from({ length: dimensions }, (_, i) => (((state + i * 7919) % 2048) - 1023.5) / 1024)
}

function inputsOf({ input }: EmbeddingCreateParams): string[] {
  if (typeof input === 'string') return [input]
  if (typeof input[0] === 'number') return [JSON.stringify(input)]
  return input.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)))
}

const base64Of = (vector: readonly number[]): string =>
  Buffer.from(Float32Array.from(vector).buffer).toString('base64')

/** Vectors for what was asked, with one token for every four characters. */
export function embeddingsOf(request: EmbeddingCreateParams, hasUsage: boolean): Buffer {
  const inputs = inputsOf(request)
  const tokens = inputs.reduce((sum, input) => sum + Math.ceil(input.length / 4), 0)
  const data = inputs.map((input, index) => {
    const vector = vectorOf(input, request.dimensions ?? DEFAULT_DIMENSIONS)
    return {
      object: 'embedding' as const,
      index,
      embedding: request.encoding_format === 'base64' ? base64Of(vector) : vector,
    }
  })
  const answer: Omit<CreateEmbeddingResponse, 'data' | 'usage'> & {
    data: typeof data
    usage?: CreateEmbeddingResponse.Usage
  } = {
    object: 'list',
    data,
    model: request.model,
    ...(hasUsage ? { usage: { prompt_tokens: tokens, total_tokens: tokens } } : {}),
  }
  // As OpenAI does: not the shortest JSON, so that a gateway which writes it anew is found out.
  return Buffer.from(JSON.stringify(answer, null, 2))
}
