import { get, type IncomingMessage } from 'node:http'

export interface ReadEvent {
  readonly id?: string
  readonly event?: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly data?: any
}

/** A reader of server-sent events. */
export interface EventReader {
  readonly status: number | undefined
  readonly headers: IncomingMessage['headers']
  readonly events: readonly ReadEvent[]
  /** Whether the answer has ended. */
  readonly isEnded: boolean
  pause(): void
  resume(): void
  close(): void
}

export async function readEvents(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<EventReader> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { headers, agent: false }, resolve).on('error', reject)
  })
  const events: ReadEvent[] = []
  let text = ''
  let isEnded = false
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    text += chunk
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = Object.fromEntries(
        block.split('\n').map((line) => [line.split(': ')[0], line.slice(line.indexOf(': ') + 2)]),
      )
      if (fields.event !== undefined)
        events.push({ ...fields, data: JSON.parse(fields.data ?? 'null') } as ReadEvent)
    }
  })
  response.on('close', () => {
    isEnded = true
  })
  response.on('error', () => {})
  return {
    status: response.statusCode,
    headers: response.headers,
    events,
    get isEnded() {
      return isEnded
    },
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    close: () => void response.destroy(),
  }
}
