import type { startWithFake } from './platform.ts'

export const MODEL = 'text-embedding-3-small'
export const ask = { model: MODEL, input: 'An aeroplane has wings' }

type Gateway = Awaited<ReturnType<typeof startWithFake>>

/** Asks for embeddings with the space's key. */
export const embed = (
  { platform, space }: Pick<Gateway, 'platform' | 'space'>,
  body: unknown,
  headers: Record<string, string> = {},
) => platform.call('POST', '/llm/v1/embeddings', { token: space.apiKey, body, headers })
