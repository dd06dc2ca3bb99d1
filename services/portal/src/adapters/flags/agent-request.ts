const TIMEOUT_MS = 1000
const MAX_BYTES = 1_048_576

/** Why an agent's answer could not be used. */
export class AgentFailure extends Error {
  /** Whether the agent itself is well and only refuses what it was asked, e.g. a profile that it does not know. */
  readonly isRefusal: boolean

  constructor(message: string, options: { cause?: unknown; isRefusal?: boolean } = {}) {
    super(message, { cause: options.cause })
    this.name = 'AgentFailure'
    this.isRefusal = options.isRefusal ?? false
  }
}

/**
 * Asks an agent for JSON, within a second and a mebibyte, body included. Redirects are not followed.
 * @throws AgentFailure for everything else than a 200 with JSON
 */
export async function askAgent(url: string, init: RequestInit): Promise<unknown> {
  try {
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (response.status !== 200) {
      await response.body?.cancel()
      const isRefusal = response.status >= 400 && response.status < 500
      throw new AgentFailure(`the agent answered ${response.status}`, { isRefusal })
    }
    return JSON.parse(await readCapped(response))
  } catch (cause) {
    if (cause instanceof AgentFailure) throw cause
    if (cause instanceof SyntaxError) throw new AgentFailure('the agent answered something else than JSON')
    throw new AgentFailure('the agent does not answer', { cause })
  }
}

async function readCapped(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    // Leaving the loop cancels the body, and with it the connection.
    if (bytes > MAX_BYTES) throw new AgentFailure(`the agent answered more than ${MAX_BYTES} bytes`)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
