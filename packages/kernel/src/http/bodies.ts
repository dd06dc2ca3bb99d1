import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import { parseJson } from '../json.ts'
import { parseJsonInPieces } from '../json-pieces.ts'
import { release } from '../memory.ts'
import { parseAtPace, turnForPiece, workOf } from '../tenant-work.ts'
import type { HttpServer } from './server.ts'

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\b/

type Done = (error: Error | null, value?: unknown) => void

/** Reads what the bytes of a body mean; `pause` lets others go on between two pieces of a long one. */
export type ReadBytes = (body: Buffer, pause: () => Promise<unknown> | undefined) => unknown

/** Up to here, reading and parsing take no time that anybody notices; larger bodies are parsed in turn. */
const LARGE_BYTES = 65_536
/** Larger ones are parsed in pieces. */
const HUGE_BYTES = 1_048_576

/**
 * Makes JSON the only body that a scope takes, replacing what it took before. Absent bodies (also with a JSON
 * content type, as many clients send on DELETE) read as undefined.
 * @param read what a handler gets for the bytes that came; may throw AppError
 */
export function readJsonBodies(scope: HttpServer, read: ReadBytes): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(JSON_TYPE, (request: FastifyRequest, payload: IncomingMessage, done: Done) => {
    const limit = request.routeOptions.bodyLimit ?? scope.initialConfig.bodyLimit ?? LARGE_BYTES
    if (Number(payload.headers['content-length']) > LARGE_BYTES) {
      readLargeBody(request, payload, limit, read).then((value) => done(null, value), done)
    } else collect(payload, limit, (error, body) => parse(request, body, read, error, done))
  })
  refuseOtherTypes(scope)
}

function parse(
  request: FastifyRequest,
  body: Buffer,
  read: ReadBytes,
  error: Error | null,
  done: Done,
): void {
  if (error !== null || body.length === 0) {
    done(error, undefined)
    return
  }
  if (body.length > LARGE_BYTES) {
    parseInTurn(request, body, read).then((value) => done(null, value), done)
    return
  }
  try {
    done(
      null,
      read(body, () => undefined),
    )
  } catch (refusal) {
    done(refusal as Error)
  }
}

async function readLargeBody(
  request: FastifyRequest,
  payload: IncomingMessage,
  limit: number,
  read: ReadBytes,
): Promise<unknown> {
  const body = await readBody(payload, limit, OWN_MEMORY)
  return body === undefined ? undefined : parseInTurn(request, body, read)
}

function parseInTurn(request: FastifyRequest, body: Buffer, read: ReadBytes): Promise<unknown> {
  const work = workOf(request)
  const pause = () => turnForPiece(work)
  const parse = async (): Promise<unknown> => {
    await pause()
    return read(body, pause)
  }
  return parseAtPace(body.length, parse, work)
}

const reader =
  (rules: { readonly isLenient: boolean }): ReadBytes =>
  (body, pause) => {
    if (body.length <= LARGE_BYTES) return parseJson(body, rules)
    if (body.length > HUGE_BYTES) return parseJsonInPieces(body, pause, rules).finally(() => release(body))
    try {
      return parseJson(body, rules)
    } finally {
      release(body)
    }
  }

/** Reads JSON, and frees the bytes of a large body; a huge one piece by piece. */
export const readJson: ReadBytes = reader({ isLenient: false })

/** The same for texts of others, that may be cut off within a character: see `JsonRules`. */
export const readLenientJson: ReadBytes = reader({ isLenient: true })

/** The bytes of a small body, or of one that does not say how long it is. */
function collect(
  payload: IncomingMessage,
  limit: number,
  done: (error: Error | null, body: Buffer) => void,
): void {
  const chunks: Buffer[] = []
  let bytes = 0
  const stop = (error: Error | null): void => {
    payload.off('data', onData).off('end', onEnd).off('error', onError)
    if (error !== null) payload.on('error', () => {}).resume()
    const [only = EMPTY, ...more] = chunks
    done(error, error !== null || more.length === 0 ? only : Buffer.concat(chunks, bytes))
  }
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length
    if (bytes > limit) stop(tooLarge(limit))
    else chunks.push(chunk)
  }
  const onEnd = (): void => stop(null)
  const onError = (cause: Error): void => stop(brokenOff(cause))
  payload.on('data', onData).on('end', onEnd).on('error', onError)
}

const EMPTY = Buffer.alloc(0)

/** Memory for bodies of megabytes. */
export interface BodyMemory {
  /** Memory of at least so many bytes, with anything in it. */
  take(bytes: number): Buffer
  /** Takes memory back that nobody reads any more. */
  giveBack(bytes: Uint8Array): void
}

/** Memory of each body's own: what nobody has written to takes none. */
const OWN_MEMORY: BodyMemory = {
  take: (bytes) => Buffer.allocUnsafeSlow(bytes),
  giveBack: release,
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

const brokenOff = ({ message }: Error): AppError =>
  new AppError(400, 'incomplete_body', `The body broke off: ${message}`, { field: 'body' })

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
    throw brokenOff(cause as Error)
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
