import { type Agent, type Dispatcher, request } from 'undici'
import type { WebSocket } from 'ws'
import type { OpenSocket } from '../egress/web-socket.ts'

/** How clusters are reached: allowed addresses only. */
export interface RayWay {
  readonly agent: Agent
  readonly openSocket: OpenSocket
}

/** How a job stands (Ray Jobs API); fields that Ray leaves open are absent. */
export interface RayJob {
  readonly status: string
  readonly message?: string | null
  readonly error_type?: string | null
  readonly driver_exit_code?: number | null
}

export interface RayJobRequest {
  readonly entrypoint: string
  readonly submission_id: string
  readonly runtime_env?: Readonly<Record<string, unknown>>
  readonly metadata?: Readonly<Record<string, string>>
  readonly entrypoint_num_cpus?: number
  readonly entrypoint_num_gpus?: number
}

/** Ray answered with an error. */
export class RayRefused extends Error {
  readonly status: number

  constructor(status: number, text: string) {
    super(`Ray answers ${status}: ${text.trim().slice(0, 500)}`)
    this.status = status
  }
}

const LARGEST_ANSWER = 1024 * 1024
const ANSWER_MS = 30_000

/** The Jobs interface of one Ray cluster. */
export class RayJobs {
  readonly #base: URL
  readonly #way: RayWay
  readonly #headers: Record<string, string>

  /** @param address such as `http://ray.example:8265` */
  constructor(address: string, token: string | undefined, way: RayWay) {
    this.#base = new URL(address.endsWith('/') ? address : `${address}/`)
    this.#way = way
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  }

  /** @returns undefined when there is no such job */
  async find(id: string, signal: AbortSignal): Promise<RayJob | undefined> {
    const response = await this.#send('GET', `api/jobs/${id}`, signal)
    if (response.statusCode === 404) {
      await response.body.dump()
      return undefined
    }
    return JSON.parse(await textOf(response)) as RayJob
  }

  async submit(job: RayJobRequest, signal: AbortSignal): Promise<void> {
    await textOf(await this.#send('POST', 'api/jobs/', signal, job))
  }

  async stop(id: string, signal: AbortSignal): Promise<void> {
    await textOf(await this.#send('POST', `api/jobs/${id}/stop`, signal))
  }

  /** Opens the job's log: messages are text, from the log's beginning on. @throws EgressRefused */
  openLog(id: string): WebSocket {
    const url = new URL(`api/jobs/${id}/logs/tail`, this.#base)
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
    return this.#way.openSocket(url.href, this.#headers)
  }

  /** Not by `fetch`: Ray refuses what has the headers of browsers. Redirects are answers like others. */
  #send(
    method: 'GET' | 'POST',
    path: string,
    signal: AbortSignal,
    body?: object,
  ): Promise<Dispatcher.ResponseData> {
    return request(new URL(path, this.#base), {
      dispatcher: this.#way.agent,
      method,
      headers: { ...this.#headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
    })
  }
}

/** @throws RayRefused for what is no success, Error for an answer that is too long */
async function textOf({ statusCode, body }: Dispatcher.ResponseData): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > LARGEST_ANSWER) throw new Error('Ray answers with more than 1 MiB')
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString('utf8')
  if (statusCode >= 300) throw new RayRefused(statusCode, text)
  return text
}
