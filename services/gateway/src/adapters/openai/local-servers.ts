import { type ListedModel, listModels } from './models.ts'

export interface LocalServer {
  readonly name: string
  readonly baseUrl: string
  readonly models: readonly ListedModel[]
}

/** Where OpenAI-compatible servers listen unless told otherwise. */
const USUAL: readonly (readonly [name: string, port: number])[] = [
  ['ollama', 11434],
  ['lm-studio', 1234],
  ['vllm', 8000],
  ['llama.cpp', 8081],
  ['jan', 1337],
]

/** Every OpenAI-compatible server of this machine, found within `timeoutMs`; never `ownPort`. */
export async function findLocalServers(ownPort: number, timeoutMs = 300): Promise<LocalServer[]> {
  const probes = USUAL.filter(([, port]) => port !== ownPort).map(async ([name, port]) => {
    const baseUrl = `http://127.0.0.1:${port}/v1`
    const models = await listModels(baseUrl, undefined, timeoutMs)
    return models === undefined ? [] : [{ name, baseUrl, models }]
  })
  return (await Promise.all(probes)).flat()
}
