import type { Usage } from './price.ts'

/** More tokens than any model takes; a larger figure is not believed. */
const MAX_TOKENS = 1_000_000_000

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_TOKENS

/** End of the JSON object that starts at `start` of `text`, or -1. */
function endOfObject(text: string, start: number): number {
  let depth = 0
  for (let i = start; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (char === 0x22) {
      for (i++; i < text.length && text.charCodeAt(i) !== 0x22; i++) {
        if (text.charCodeAt(i) === 0x5c) i++
      }
    } else if (char === 0x7b) depth++
    else if (char === 0x7d && --depth === 0) return i + 1
  }
  return -1
}

const USAGE_KEY = /"usage"\s*:\s*\{/g

/**
 * The last `usage` object in JSON text. Inside a JSON string the key's quotes are escaped, so the text of
 * a message cannot pass for it.
 */
export function findUsage(text: string): Usage | undefined {
  const at = text.lastIndexOf('"usage"')
  if (at === -1) return undefined
  USAGE_KEY.lastIndex = at
  const match = USAGE_KEY.exec(text)
  if (match === null || match.index !== at || text[at - 1] === '\\') return undefined
  const start = match.index + match[0].length - 1
  const end = endOfObject(text, start)
  if (end === -1) return undefined
  try {
    return usageOf(JSON.parse(text.slice(start, end)))
  } catch {
    return undefined
  }
}

/** OpenAI's usage object, as JSON text, as our figures; undefined when they cannot be right. */
export function usageOfText(json: string): Usage | undefined {
  try {
    return usageOf(JSON.parse(json))
  } catch {
    return undefined
  }
}

/** OpenAI's usage object as our figures; undefined when they cannot be right. */
function usageOf(value: unknown): Usage | undefined {
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

/** Usage stands at the end of an answer; the part before it can be long. */
const TAIL_BYTES = 4096

/** The usage of a complete answer, read from its end without parsing the rest. */
export function usageOfAnswer(body: Buffer): Usage | undefined {
  const tail = findUsage(body.toString('latin1', Math.max(0, body.length - TAIL_BYTES)))
  if (tail !== undefined || body.length <= TAIL_BYTES) return tail
  return findUsage(body.toString('latin1'))
}
