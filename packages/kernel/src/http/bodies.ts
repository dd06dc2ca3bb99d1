import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import { release } from '../memory.ts'
import type { HttpServer } from './server.ts'

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\b/

/**
 * Makes JSON the only body that a scope takes, replacing what it took before. Absent bodies (also with a JSON
 * content type, as many clients send on DELETE) read as undefined.
 * @param read what a handler gets for the bytes that came; may throw AppError
 */
export function readJsonBodies(scope: HttpServer, read: (body: Buffer) => unknown): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(
    JSON_TYPE,
    { parseAs: 'buffer' },
    (_request: FastifyRequest, body: Buffer, done: (error: Error | null, value?: unknown) => void) => {
      const parse = (): void => {
        try {
          done(null, body.length === 0 ? undefined : read(body))
        } catch (error) {
          done(error as Error)
        }
      }
      if (body.length < LARGE_BYTES) parse()
      else inTurn(parse)
    },
  )
  refuseOtherTypes(scope)
}

/** Parsing less takes no time that anybody notices. */
const LARGE_BYTES = 65_536

/** Large bodies wait for each other, one a round of the event loop: small requests of others come in between. */
const waiting: (() => void)[] = []

function inTurn(parse: () => void): void {
  waiting.push(parse)
  if (waiting.length === 1) setImmediate(parseNext)
}

function parseNext(): void {
  const parse = waiting.shift()
  if (waiting.length > 0) setImmediate(parseNext)
  parse?.()
}

/** Memory for bodies of megabytes. */
export interface BodyMemory {
  /** Memory of at least so many bytes, with anything in it. */
  take(bytes: number): Buffer
  /** Takes memory back that nobody reads any more. */
  giveBack(bytes: Uint8Array): void
}

/** Makes JSON the only body that a scope takes, and leaves it unread: its handlers call `readBody`. */
export function streamJsonBodies(scope: HttpServer): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(JSON_TYPE, (_request, payload, done) => done(null, payload))
  refuseOtherTypes(scope)
}

function refuseOtherTypes(scope: HttpServer): void {
  scope.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume()
    done(
      new AppError(
        400,
        'invalid_content_type',
        'The body must be JSON: send Content-Type: application/json',
        {
          field: 'content-type',
        },
      ),
    )
  })
}

const tooLarge = (limit: number): AppError =>
  new AppError(413, 'body_too_large', `The body is larger than ${limit} bytes`, { field: 'body' })

/** A rest of so many bytes is not worth reading for an answer that its client would see without. */
const MOST_DROPPED = 1024 ** 3

/**
 * Leaves the connection open behind an answer to a body that was not read. Fastify closes it, and a client that is
 * still sending sees a broken pipe instead of the answer. Node.js reads the rest and forgets it, for as long as a
 * request may take.
 */
export function keepOpen(request: FastifyRequest, reply: FastifyReply): void {
  if (!(Number(request.headers['content-length']) > MOST_DROPPED)) reply.removeHeader('connection')
}

/** @throws AppError 400 when the client goes away in the middle */
async function* chunksOf(payload: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    yield* payload.iterator({ destroyOnReturn: false })
  } catch (cause) {
    throw new AppError(400, 'incomplete_body', `The body broke off: ${(cause as Error).message}`, {
      field: 'body',
    })
  }
}

/**
 * Copies a chunk in two halves: a part of a buffer is copied by Node.js, a whole one by V8, which takes five times as
 * long where the memory is shared between threads.
 */
function copyInto(body: Buffer, chunk: Buffer, at: number): void {
  const half = chunk.length >>> 1
  chunk.copy(body, at, 0, half)
  chunk.copy(body, at + half, half)
}

/** What a body gets at first whose length nobody announced. */
const FIRST_BYTES = 65_536

/**
 * Reads a body that a scope left unread.
 * @param limit its greatest length in bytes
 * @param memory the caller gives back to it what this returns
 * @returns undefined for an empty body
 * @throws AppError 413, and 400 when the client goes away in the middle
 */
export async function readBody(
  payload: IncomingMessage,
  limit: number,
  memory: BodyMemory,
): Promise<Buffer | undefined> {
  const announced = payload.headers['content-length']
  if (Number(announced) > limit) throw tooLarge(limit)
  let body = memory.take(announced === undefined ? FIRST_BYTES : Number(announced))
  let end = 0
  try {
    for await (const chunk of chunksOf(payload)) {
      if (end + chunk.length > limit) throw tooLarge(limit)
      if (end + chunk.length > body.length) {
        const grown = memory.take(Math.min(limit, 2 * (end + chunk.length)))
        body.copy(grown, 0, 0, end)
        memory.giveBack(body)
        body = grown
      }
      copyInto(body, chunk, end)
      end += chunk.length
      release(chunk)
    }
  } catch (error) {
    memory.giveBack(body)
    // Read and forgotten, from here on: the loop has left the stream paused.
    payload.resume()
    throw error
  }
  if (end > 0) return body.subarray(0, end)
  memory.giveBack(body)
  return undefined
}
