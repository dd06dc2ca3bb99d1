import type { Backend } from '../../domain/backend.ts'
import { bodyOf, createChatCompletions } from './chat-completions.ts'
import { connect, type OpenAiOptions } from './connection.ts'
import { passOn } from './pass-on.ts'

export type { OpenAiOptions } from './connection.ts'
export { createLocalSearch } from './local-servers.ts'
export { type ListedModel, listModels } from './models.ts'

/** 2,048 vectors of 3,072 numbers are 150 MiB of text. */
const MAX_EMBEDDINGS_BYTES = 256 * 1024 * 1024

/** A backend that speaks OpenAI's API. */
export function createOpenAiBackend(options: OpenAiOptions): Backend {
  const connection = connect(options)
  const { host } = new URL(options.baseUrl)
  return {
    name: options.name,
    summary: `${options.name}: ${host}${options.apiKey === undefined ? ' (without a key)' : ''}`,
    isSandbox: false,
    chatCompletions: createChatCompletions(connection),
    embeddings: (call) =>
      passOn(connection, '/embeddings', bodyOf(call), {
        cancellation: call.cancellation,
        maxBytes: MAX_EMBEDDINGS_BYTES,
      }),
    close: () => connection.close(),
  }
}
