import { setTimeout as delay } from 'node:timers/promises'
import { type FakeOpenAi, type FakeOpenAiOptions, startFakeOpenAi, startTestPlatform } from '@atrium/testing'
import OpenAI from 'openai'
import type pg from 'pg'

/** The key that the operator gave the gateway for its backend; no caller may ever see it. */
export const OPERATOR_KEY = 'sk-operator-key-0123456789'

/** A platform whose one backend is a fake OpenAI, and a space with a key. */
export async function startWithFake(
  options: {
    env?: Record<string, string>
    fake?: FakeOpenAiOptions
    /** Receives what the platform logs, a line an entry. */
    logLines?: string[]
    /** The fake is found on this machine, not named by the operator. */
    isFound?: boolean
  } = {},
) {
  const fake: FakeOpenAi = await startFakeOpenAi({ models: false, ...options.fake })
  const platform = await startTestPlatform({
    ...(options.logLines === undefined ? {} : { logLines: options.logLines }),
    env: {
      ...(options.isFound === true
        ? { ATRIUM_PROBE_LOCAL_MODELS: 'true', ATRIUM_LOCAL_MODEL_PORTS: new URL(fake.url).port }
        : { OPENAI_BASE_URL: fake.url, OPENAI_API_KEY: OPERATOR_KEY }),
      ATRIUM_SANDBOX: 'off',
      ...options.env,
    },
  })
  const space = await platform.space()
  fake.requests.length = 0
  return {
    fake,
    platform,
    space,
    client: new OpenAI({ apiKey: space.apiKey, baseURL: `${platform.url}/llm/v1`, maxRetries: 0 }),
    chat: (body: unknown, headers: Record<string, string> = {}) =>
      platform.call('POST', '/llm/v1/chat/completions', { token: space.apiKey, body, headers }),
    /** The answer as the bytes that come, without any client. */
    raw: (body: string | Buffer, signal?: AbortSignal) =>
      fetch(`${platform.url}/llm/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${space.apiKey}`, 'content-type': 'application/json' },
        body: typeof body === 'string' ? body : new Uint8Array(body),
        ...(signal === undefined ? {} : { signal }),
      }),
    /** The usage that became cost, by model, once `calls` calls are there. */
    usage: (calls: number) => waitForUsage(platform.pool, space.spaceId, calls),
    async [Symbol.asyncDispose]() {
      await platform.close()
      await fake.close()
    },
  }
}

export interface RecordedUsage {
  readonly model: string
  readonly amount: string
  readonly requests: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  readonly estimatedRequests: number
}

/** Polls the costs until they hold `calls` calls of the space; what is there after 5 s otherwise. */
export async function waitForUsage(pool: pg.Pool, spaceId: string, calls: number): Promise<RecordedUsage[]> {
  for (let waited = 0; ; waited += 50) {
    const { rows } = await pool.query<{ model: string; amount: string; usage_details: string }>(
      'SELECT model, amount, usage_details FROM portal.cost_entries WHERE space_id = $1 ORDER BY model',
      [spaceId],
    )
    const usage = rows.map((row) => ({
      model: row.model,
      amount: row.amount,
      ...JSON.parse(row.usage_details),
    }))
    const seen = usage.reduce((sum, { requests }) => sum + requests, 0)
    if (seen >= calls || waited > 5000) return usage
    await delay(50)
  }
}

export const hello = { model: 'gpt-4o', messages: [{ role: 'user' as const, content: 'Hello' }] }
