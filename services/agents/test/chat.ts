import type { Answer, CallOptions, TestPlatform } from '@atrium/testing'

export const UNKNOWN_ID = '01890000-0000-7000-8000-000000000000'

export const AGENT_INPUT = {
  name: 'Helper',
  instructions: 'Answer briefly.',
  description: 'Helps',
  outputFormat: 'text',
  createdBy: { qxId: 'qx-ada', name: 'Ada' },
} as const

const text = (words: string) => [{ type: 'text', text: words }]
export const messageOf = (words: string, more: object = {}) => ({
  role: 'user',
  content: text(words),
  ...more,
})

/** Calls below one space of the agents service as one caller, and makes what most tests begin with. */
export function chatIn(platform: TestPlatform, spaceId: string, token: string) {
  const call = (method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<Answer> =>
    platform.call(method, `/agents/v1/spaces/${spaceId}${path}`, {
      token,
      ...(body === undefined ? {} : { body }),
      ...options,
    })

  async function made(path: string, body: unknown): Promise<Record<string, string>> {
    const answer = await call('POST', path, body)
    if (answer.status !== 201)
      throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  async function agent(more: object = {}): Promise<string> {
    return (await made('/agent?model=gpt-4o', { ...AGENT_INPUT, ...more })).agentId ?? ''
  }

  /** @returns the thread's path */
  async function thread(agentId: string, more: object = {}): Promise<string> {
    const { threadId } = await made(`/agent/${agentId}/thread`, more)
    return `/agent/${agentId}/thread/${threadId}`
  }

  /** @returns the message's path */
  async function message(thread: string, more: object = {}): Promise<string> {
    const { messageId } = await made(`${thread}/message`, messageOf('hi', more))
    return `${thread}/message/${messageId}`
  }

  return { call, agent, thread, message }
}

export type Chat = ReturnType<typeof chatIn>
