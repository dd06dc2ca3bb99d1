import type { Usage } from './price.ts'

/** More tokens than any model takes; a larger figure is not believed. */
const MAX_TOKENS = 1_000_000_000

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_TOKENS

/** OpenAI's usage object, as JSON text, as our figures; undefined when they cannot be right. */
export function usageOfText(json: string): Usage | undefined {
  try {
    return usageOf(JSON.parse(json))
  } catch {
    return undefined
  }
}

/** OpenAI's usage object as our figures; undefined when they cannot be right. */
export function usageOf(value: unknown): Usage | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const usage = value as {
    prompt_tokens?: unknown
    completion_tokens?: unknown
    prompt_tokens_details?: { cached_tokens?: unknown } | null
  }
  const { prompt_tokens: promptTokens, completion_tokens: completionTokens = 0 } = usage
  if (!isCount(promptTokens) || !isCount(completionTokens)) return undefined
  const cached = usage.prompt_tokens_details?.cached_tokens
  const cachedTokens = isCount(cached) ? Math.min(cached, promptTokens) : 0
  return { promptTokens, completionTokens, cachedTokens, estimated: false }
}
