import type { Backend } from '../../domain/backend.ts'
import { chatCompletions } from './chat-completions.ts'
import { connect, type OpenAiOptions } from './connection.ts'

export type { OpenAiOptions } from './connection.ts'
export { createLocalSearch } from './local-servers.ts'
export { type ListedModel, listModels } from './models.ts'

/** A backend that speaks OpenAI's API. */
export function createOpenAiBackend(options: OpenAiOptions): Backend {
  const connection = connect(options)
  const { host } = new URL(options.baseUrl)
  return {
    name: options.name,
    summary: `${options.name}: ${host}${options.apiKey === undefined ? ' (without a key)' : ''}`,
    isSandbox: false,
    chatCompletions: (call) => chatCompletions(connection, call),
    close: () => connection.close(),
  }
}
