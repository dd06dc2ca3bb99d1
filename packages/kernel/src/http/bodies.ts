import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
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
      try {
        done(null, body.length === 0 ? undefined : read(body))
      } catch (error) {
        done(error as Error)
      }
    },
  )
  refuseOtherTypes(scope)
}

/**
 * Makes JSON the only body that a scope takes, and hands out its bytes. For bodies of megabytes: the memory of what
 * came is freed at once. Left to the garbage collector, every few of them would make it mark the whole heap.
 * @param allocate memory of at least so many bytes, for a whole body
 */
export function readLargeJsonBodies(
  scope: HttpServer,
  allocate: (bytes: number) => Buffer = Buffer.allocUnsafeSlow,
): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(JSON_TYPE, (request: FastifyRequest, payload: IncomingMessage) =>
    readBytes(payload, request.routeOptions.bodyLimit, allocate),
  )
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

/** @throws AppError 413, 400 */
async function readBytes(
  payload: IncomingMessage,
  limit: number,
  allocate: (bytes: number) => Buffer,
): Promise<Buffer | undefined> {
  const announced = Number(payload.headers['content-length'] ?? Number.NaN)
  if (announced > limit) throw tooLarge(limit)
  let body = allocate(Number.isNaN(announced) ? 65_536 : announced)
  let length = 0
  for await (const chunk of chunksOf(payload)) {
    if (length + chunk.length > limit) {
      // The rest is read and forgotten: a connection that breaks off shows no answer.
      payload.resume()
      throw tooLarge(limit)
    }
    if (length + chunk.length > body.length) {
      const grown = allocate(Math.min(limit, 2 * (length + chunk.length)))
      body.copy(grown, 0, 0, length)
      release(body)
      body = grown
    }
    body.set(chunk, length)
    length += chunk.length
    release(chunk)
  }
  return length === 0 ? undefined : body.subarray(0, length)
}

/** Frees the memory of bytes that nobody reads any more, where it is theirs alone. */
export function release(bytes: Uint8Array): void {
  const { buffer } = bytes
  if (buffer instanceof ArrayBuffer && bytes.byteLength === buffer.byteLength && !buffer.detached)
    buffer.transfer(0)
}
