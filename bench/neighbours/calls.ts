// What one HTTP call of this benchmark is, and a client of it that costs little beside the server.
import { Agent, request } from 'node:http'

export interface Call {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** A text, or how often one is repeated between two others: bodies of many MB are made where they are sent. */
  readonly body?:
    | string
    | { readonly head: string; readonly item: string; readonly times: number; readonly tail: string }
}

export const bytesOf = (body: Call['body']): Buffer | undefined => {
  if (body === undefined) return undefined
  if (typeof body === 'string') return Buffer.from(body)
  return Buffer.from(body.head + Array(body.times).fill(body.item).join(',') + body.tail)
}

export function clientOf(port: number, connections: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  /** @returns the status, once the whole answer was read */
  return (call: Call, body: Buffer | undefined): Promise<number> =>
    new Promise((resolve, reject) => {
      const sent = request(
        {
          agent,
          host: '127.0.0.1',
          port,
          method: call.method,
          path: call.path,
          headers: { ...call.headers, ...(body === undefined ? {} : { 'content-length': body.length }) },
        },
        (answer) => {
          answer.resume()
          answer.on('end', () => resolve(answer.statusCode ?? 0))
          answer.on('error', reject)
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
}
