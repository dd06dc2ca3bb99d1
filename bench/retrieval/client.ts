// The load: requests over so many connections, each sent when the one before was answered.
import { Agent, request } from 'node:http'

export interface Target {
  readonly host: string
  readonly port: number
  readonly headers: Readonly<Record<string, string>>
}

export interface Post {
  readonly path: string
  readonly body: Buffer
}

const agents = new Map<number, Agent>()

/** An answer's body. @throws Error when it is no success */
export function post(target: Target, { path, body }: Post): Promise<Buffer> {
  let agent = agents.get(target.port)
  if (agent === undefined) {
    agent = new Agent({ keepAlive: true, maxSockets: 64 })
    agents.set(target.port, agent)
  }
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const call = request(
    {
      host: target.host,
      port: target.port,
      path,
      method: 'POST',
      agent,
      headers: { 'content-type': 'application/json', 'content-length': body.length, ...target.headers },
    },
    (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const answer = Buffer.concat(chunks)
        if ((response.statusCode ?? 500) < 300) resolve(answer)
        else reject(new Error(`${path}: ${response.statusCode} ${answer.toString('utf8').slice(0, 300)}`))
      })
      response.on('error', reject)
    },
  )
  call.on('error', reject)
  call.end(body)
  return promise
}

export interface Timed {
  readonly perSecond: number
  readonly p50: number
  readonly p95: number
}

/** Runs work over and over, so many at once, until `until` resolves or so many seconds have passed. */
export async function closedLoop(
  atOnce: number,
  until: number | Promise<unknown>,
  work: (turn: number) => Promise<unknown>,
): Promise<Timed> {
  let isOver = false
  const end = (): void => {
    isOver = true
  }
  if (typeof until === 'number') setTimeout(end, until * 1000)
  else void until.finally(end)
  const times: number[] = []
  let turn = 0
  const began = performance.now()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (!isOver) {
        const start = performance.now()
        await work(turn++)
        times.push(performance.now() - start)
      }
    }),
  )
  const seconds = (performance.now() - began) / 1000
  times.sort((a, b) => a - b)
  const at = (share: number): number => times[Math.floor(share * times.length)] ?? Number.NaN
  return { perSecond: times.length / seconds, p50: at(0.5), p95: at(0.95) }
}
