import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { type WebSocket, WebSocketServer } from 'ws'

interface FakeJob {
  readonly request: Record<string, unknown>
  status: string
  message: string
  exitCode: number | null
  log: string
  stopped: boolean
  readonly followers: Set<WebSocket>
}

/** A Ray cluster’s Jobs interface on the wire, with jobs that do what a test says. */
export interface FakeRay {
  readonly url: string
  readonly jobs: ReadonlyMap<string, FakeJob>
  /** The only job. */
  readonly job: FakeJob
  /** Answers so many calls with this status instead. */
  fail(status: number, times: number): void
  say(text: string): void
  /** Breaks the connections of those who follow the log. */
  breakLogs(): void
  end(status: 'SUCCEEDED' | 'FAILED' | 'STOPPED', message?: string, exitCode?: number): void
  close(): Promise<void>
}

export async function startFakeRay({ token }: { token?: string } = {}): Promise<FakeRay> {
  const jobs = new Map<string, FakeJob>()
  let failing = { status: 0, times: 0 }
  const isKnown = ({ headers }: IncomingMessage): boolean =>
    token === undefined || headers.authorization === `Bearer ${token}`
  const answer = (response: ServerResponse, status: number, body: unknown): void =>
    void response
      .writeHead(status, { 'content-type': typeof body === 'string' ? 'text/plain' : 'application/json' })
      .end(typeof body === 'string' ? body : JSON.stringify(body))

  const server = createServer(async (request, response) => {
    if (!isKnown(request)) return answer(response, 401, 'Unauthorized: Missing authentication token')
    if (request.method === 'POST' && request.headers['sec-fetch-mode'] !== undefined)
      return answer(response, 405, "'POST' method not allowed for browser traffic.")
    if (failing.times > 0) {
      failing.times--
      return answer(response, failing.status, 'Traceback (most recent call last): …')
    }
    const [, id = '', act] = /^\/api\/jobs\/([^/]*)(?:\/(\w+))?$/.exec(request.url ?? '') ?? []
    if (request.method === 'POST' && request.url === '/api/jobs/') {
      const body = (await json(request)) as Record<string, unknown>
      const submission = String(body.submission_id)
      if (jobs.has(submission))
        return answer(response, 500, `Job with submission_id ${submission} already exists.`)
      jobs.set(submission, {
        request: body,
        status: 'RUNNING',
        message: 'Job is currently running.',
        exitCode: null,
        log: '',
        stopped: false,
        followers: new Set(),
      })
      return answer(response, 200, { job_id: submission, submission_id: submission })
    }
    const job = jobs.get(id)
    if (job === undefined) return answer(response, 404, `Job ${id} does not exist`)
    if (request.method === 'POST' && act === 'stop') {
      job.stopped = true
      return answer(response, 200, { stopped: true })
    }
    return answer(response, 200, {
      type: 'SUBMISSION',
      submission_id: id,
      status: job.status,
      message: job.message,
      error_type: null,
      driver_exit_code: job.exitCode,
    })
  })
  const sockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) => {
    const job = jobs.get(/^\/api\/jobs\/([^/]+)\/logs\/tail$/.exec(request.url ?? '')?.[1] ?? '')
    if (!isKnown(request) || job === undefined || request.headers['sec-websocket-extensions'] !== undefined) {
      socket.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n')
      return
    }
    sockets.handleUpgrade(request, socket, head, (follower) => {
      job.followers.add(follower)
      if (job.log !== '') follower.send(job.log)
      if (job.status !== 'RUNNING') follower.close(1000)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const only = (): FakeJob => {
    const [job] = jobs.values()
    if (job === undefined) throw new Error('there is no job')
    return job
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    jobs,
    get job() {
      return only()
    },
    fail(status, times) {
      failing = { status, times }
    },
    say(text) {
      only().log += text
      for (const follower of only().followers) follower.send(text)
    },
    breakLogs() {
      for (const follower of only().followers) follower.terminate()
      only().followers.clear()
    },
    end(status, message = '', exitCode) {
      Object.assign(only(), { status, message, exitCode: exitCode ?? null })
      for (const follower of only().followers) follower.close(1000)
    },
    async close() {
      for (const { followers } of jobs.values()) for (const follower of followers) follower.terminate()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
