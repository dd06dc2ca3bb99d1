import { request } from 'undici'

export interface ListedModel {
  readonly id: string
  readonly created: number
  readonly ownedBy: string
}

const MAX_MODELS = 10_000

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/** The server's own model list, or undefined when it gives none within `timeoutMs`. */
export async function listModels(
  baseUrl: string,
  apiKey: string | undefined,
  timeoutMs: number,
): Promise<ListedModel[] | undefined> {
  try {
    const answer = await request(`${baseUrl.replace(/\/+$/, '')}/models`, {
      headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
      signal: AbortSignal.timeout(timeoutMs),
    })
    const body: unknown = await answer.body.json()
    if (answer.statusCode !== 200 || !isRecord(body) || !Array.isArray(body.data)) return undefined
    return body.data.slice(0, MAX_MODELS).flatMap((model: unknown) => {
      if (!isRecord(model) || typeof model.id !== 'string' || model.id === '') return []
      const created = typeof model.created === 'number' ? Math.trunc(model.created) : 0
      return [
        { id: model.id, created, ownedBy: typeof model.owned_by === 'string' ? model.owned_by : 'unknown' },
      ]
    })
  } catch {
    return undefined
  }
}
