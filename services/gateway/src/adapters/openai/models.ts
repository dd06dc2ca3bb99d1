import { request } from 'undici'

export interface ListedModel {
  readonly id: string
  readonly created: number
  readonly ownedBy: string
}

/** Why there is no list: nobody listens there, an answer that is none, or no answer in time. */
export type NoList = 'no-server' | 'no-list' | 'no-answer'

const MAX_MODELS = 10_000

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/** The server's own model list, asked for at most `timeoutMs` milliseconds. Never rejects. */
export async function listModels(
  baseUrl: string,
  apiKey: string | undefined,
  timeoutMs: number,
): Promise<readonly ListedModel[] | NoList> {
  try {
    const answer = await request(`${baseUrl.replace(/\/+$/, '')}/models`, {
      headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
      signal: AbortSignal.timeout(timeoutMs),
    })
    const body: unknown = await answer.body.json()
    if (answer.statusCode !== 200 || !isRecord(body) || !Array.isArray(body.data)) return 'no-list'
    return body.data.slice(0, MAX_MODELS).flatMap((model: unknown) => {
      if (!isRecord(model) || typeof model.id !== 'string' || model.id === '') return []
      const created = typeof model.created === 'number' ? Math.trunc(model.created) : 0
      return [
        { id: model.id, created, ownedBy: typeof model.owned_by === 'string' ? model.owned_by : 'unknown' },
      ]
    })
  } catch (error) {
    if (error instanceof SyntaxError) return 'no-list'
    return (error as { code?: unknown }).code === 'ECONNREFUSED' ? 'no-server' : 'no-answer'
  }
}
