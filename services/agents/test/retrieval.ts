import { type Answer, type CallOptions, randomFrom, type TestPlatform } from '@atrium/testing'

/** The shortest that stores take. */
export const DIMENSION = 1024
export const SMALL_STORE = { name: 'store', embeddingModel: 'titan-text-embeddings-v2' } as const

/** A vector whose first numbers are these, all others 0. */
export const vectorOf = (...numbers: number[]): number[] =>
  Array.from({ length: DIMENSION }, (_, index) => numbers[index] ?? 0)

/** A vector without pattern; few digits, for small bodies. */
export function randomVector(seed: number): number[] {
  const random = randomFrom(seed)
  return Array.from({ length: DIMENSION }, () => Math.round((random() - 0.5) * 1000) / 1000)
}

/** (1 + cosine) / 2 of two vectors as 32-bit floats. */
export function vectorScore(a: readonly number[], b: readonly number[]): number {
  let [product, left, right] = [0, 0, 0]
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [Math.fround(a[i] ?? 0), Math.fround(b[i] ?? 0)]
    product += x * y
    left += x * x
    right += y * y
  }
  return (1 + product / Math.sqrt(left * right)) / 2
}

export interface Item {
  readonly embeddingId: string
  readonly chunk: string
  readonly documentId: string
  readonly sequence: number
  readonly metadata: Record<string, unknown>
}
export interface Hit extends Item {
  readonly score: number
  readonly embedding?: number[]
}

export interface NewItem {
  readonly vector: readonly number[]
  readonly chunk?: string
  readonly documentId?: string
  readonly metadata?: Record<string, unknown>
}

/** The body that stores items; a field is left out where the first item lacks it. */
export function bodyOf(items: readonly NewItem[]): Record<string, unknown> {
  const [first] = items
  return {
    embeddings: items.map(({ vector }) => vector),
    ...(first?.chunk === undefined ? {} : { chunks: items.map(({ chunk }) => chunk) }),
    ...(first?.documentId === undefined ? {} : { documentIds: items.map(({ documentId }) => documentId) }),
    ...(first?.metadata === undefined ? {} : { metadata: items.map(({ metadata }) => metadata) }),
  }
}

/** Calls below the vector stores of one space as one caller, and makes what most tests begin with. */
export function storesIn(platform: TestPlatform, spaceId: string, token: string) {
  const call = (method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<Answer> =>
    platform.call(method, `/agents/v1/spaces/${spaceId}/vector-stores${path}`, {
      token,
      ...(body === undefined ? {} : { body }),
      ...options,
    })

  async function demand<T>(status: number, method: string, path: string, body?: unknown): Promise<T> {
    const answer = await call(method, path, body)
    if (answer.status !== status)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body as T
  }

  /** @returns the store's path */
  async function store(more: object = {}): Promise<string> {
    const { vectorStoreId } = await demand<{ vectorStoreId: string }>(201, 'POST', '', {
      ...SMALL_STORE,
      ...more,
    })
    return `/${vectorStoreId}`
  }

  const add = (path: string, items: readonly NewItem[]): Promise<Item[]> =>
    demand(201, 'POST', `${path}/embeddings`, bodyOf(items))

  /** @param kind `search`, `keyword-search` and so on */
  async function search(path: string, kind: string, body: object): Promise<Hit[]> {
    return (await demand<{ results: Hit[] }>(200, 'POST', `${path}/${kind}`, body)).results
  }

  const list = (path: string, query = ''): Promise<Item[]> => demand(200, 'GET', `${path}/embeddings${query}`)

  return { call, demand, store, add, search, list }
}

export type Stores = ReturnType<typeof storesIn>

export const idOf = (path: string): string => path.split('/').at(-1) ?? ''
