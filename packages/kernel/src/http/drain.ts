import type { IncomingMessage, ServerResponse } from 'node:http'
import { SlotSet } from '../slot-set.ts'
import type { HttpServer } from './server.ts'
import { errorShapeBelow } from './service.ts'

/** What answers that were told of their end have to write it, before their connections are destroyed. */
const LAST_WORDS_MS = 3000
const RETRY_SECONDS = 1

/** How a server stops without breaking what it serves. */
export interface Drain {
  /** From now on every answer is the last one of its connection; new connections are still accepted. */
  begin(): void
  /**
   * Accepts no more connections and waits for the answers under way. What is still open after `withinMs` is cut off:
   * by its own act (`onCutOff`), by 503 where the answer has not begun, else by destroying the connection.
   */
  close(withinMs: number): Promise<void>
}

const ends = new WeakMap<ServerResponse, () => void>()

/** Says how an answer that has begun ends when the server cannot wait for it: `end` must end the response. */
export const onCutOff = (response: ServerResponse, end: () => void): void => void ends.set(response, end)

/** Follows the server's answers, so that it can be drained. Call it before it listens. */
export function createDrain(app: HttpServer): Drain {
  const open = new SlotSet<ServerResponse>()
  let isDraining = false
  let isClosing = false

  const isLast = (response: ServerResponse): void => {
    // `node:http` then says `connection: close` and ends the connection behind the answer.
    if (!response.headersSent) response.shouldKeepAlive = false
  }
  // Before Fastify, which answers some requests at once.
  app.server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
    const slot = open.add(response)
    if (isDraining) isLast(response)
    response.once('close', () => {
      open.delete(slot)
      // An answer whose head was sent before still promised to keep the connection.
      if (isClosing) setImmediate(() => app.server.closeIdleConnections())
    })
  })

  function begin(): void {
    isDraining = true
    for (const response of open.values()) isLast(response)
  }

  function cutOff(): void {
    for (const response of open.values()) {
      const end = ends.get(response)
      if (end !== undefined) end()
      else if (response.headersSent) response.destroy()
      else refuse(app, response)
    }
  }

  return {
    begin,
    async close(withinMs) {
      begin()
      isClosing = true
      const timers = [
        setTimeout(cutOff, withinMs),
        // Readers that do not take their last words, and requests that never came in whole.
        setTimeout(() => app.server.closeAllConnections(), withinMs + LAST_WORDS_MS),
      ]
      try {
        await app.close()
      } finally {
        for (const timer of timers) clearTimeout(timer)
      }
    },
  }
}

/** 503 in the shape of the service that was asked. */
function refuse(app: HttpServer, response: ServerResponse): void {
  const { req } = response
  const message = 'The server stops before it could answer; send the request again'
  const format = errorShapeBelow(app.server, req.url ?? '')
  const requestId = String(response.getHeader('x-request-id') ?? '')
  const body = JSON.stringify(
    format?.({ status: 503, code: 'server_stopping', message, field: undefined, requestId }) ?? {
      error: { code: 503, message },
    },
  )
  response
    .writeHead(503, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      'retry-after': String(RETRY_SECONDS),
    })
    .end(body)
}
