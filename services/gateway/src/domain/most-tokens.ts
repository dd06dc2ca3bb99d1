import type { ChatCompletionRequest } from '../contract/chat-completions.ts'
import type { CatalogueModel } from './catalogue.ts'

/** What a call can use at most, and what its answer is likely to have. */
export interface MostTokens {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly likelyCompletionTokens: number
}

/** For models whose entry in the catalogue has no limits. */
const USUAL_WINDOW = 131_072
/** An answer whose length the caller does not limit. */
const USUAL_COMPLETION = 1000

/**
 * The most tokens that a chat can use: no tokenizer makes more tokens of a text than it has bytes, but pictures and sounds
 * can fill the window; the answer ends at the caller's limit or the model's.
 */
export function mostOfChat(
  raw: Buffer,
  request: ChatCompletionRequest,
  { card }: CatalogueModel,
): MostTokens {
  const window = card.context_window ?? USUAL_WINDOW
  const isText = request.messages.every(
    ({ content }) => !Array.isArray(content) || content.every((part) => 'text' in part),
  )
  const asked = request.max_completion_tokens ?? request.max_tokens ?? Number.POSITIVE_INFINITY
  const most = Math.min(asked, card.max_output_tokens ?? window)
  const choices = request.n ?? 1
  return {
    promptTokens: isText ? Math.min(raw.length, window) : window,
    completionTokens: most * choices,
    likelyCompletionTokens: (Number.isFinite(asked) ? most : Math.min(most, USUAL_COMPLETION)) * choices,
  }
}

/** The most tokens that embeddings can use: the same text, and nothing is written. */
export const mostOfEmbeddings = (raw: Buffer): MostTokens => ({
  promptTokens: raw.length,
  completionTokens: 0,
  likelyCompletionTokens: 0,
})
