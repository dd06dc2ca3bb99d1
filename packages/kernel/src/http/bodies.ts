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
