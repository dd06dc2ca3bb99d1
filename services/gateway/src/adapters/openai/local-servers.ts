import { type ListedModel, listModels } from './models.ts'

export interface LocalServer {
  readonly name: string
  readonly baseUrl: string
  readonly models: readonly ListedModel[]
}

/** Where OpenAI-compatible servers listen unless told otherwise. */
const USUAL: ReadonlyMap<number, string> = new Map([
  [11434, 'ollama'],
  [1234, 'lm-studio'],
  [8000, 'vllm'],
  [8081, 'llama.cpp'],
  [1337, 'jan'],
])

/** A server on this machine answers at once, or is busy with a model: then it is known already. */
const FIRST_TIMEOUT_MS = 300
const AGAIN_TIMEOUT_MS = 2000

/**
 * Looks for OpenAI-compatible servers on `ports` of this machine, never on `ownPort`, each time the returned function
 * is called. A server that was found and is too busy to answer keeps its list; one that is gone is gone.
 */
export function createLocalSearch(ports: readonly number[], ownPort: number): () => Promise<LocalServer[]> {
  const found = new Map<number, LocalServer>()
  const look = async (port: number): Promise<void> => {
    const baseUrl = `http://127.0.0.1:${port}/v1`
    const models = await listModels(baseUrl, undefined, found.has(port) ? AGAIN_TIMEOUT_MS : FIRST_TIMEOUT_MS)
    if (typeof models !== 'string') {
      found.set(port, { name: USUAL.get(port) ?? `local-${port}`, baseUrl, models })
    } else if (models !== 'no-answer') found.delete(port)
  }
  return async () => {
    const foreign = ports.filter((port) => port !== ownPort)
    await Promise.all(foreign.map(look))
    return foreign.flatMap((port) => found.get(port) ?? [])
  }
}
