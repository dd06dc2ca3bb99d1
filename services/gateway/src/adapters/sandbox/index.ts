import type { Backend } from '../../domain/backend.ts'
import { chatCompletions } from './chat-completions.ts'
import { embeddings } from './embeddings.ts'

/** Answers without any model, always the same to the same question, and says so. */
export function createSandbox(): Backend {
  return {
    name: 'sandbox',
    summary: 'sandbox: no real model answers; set OPENAI_API_KEY or OPENAI_BASE_URL for one',
    isSandbox: true,
    chatCompletions,
    embeddings,
    close: async () => {},
  }
}
