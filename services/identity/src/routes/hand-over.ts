import { actOfCaller } from '@atrium/access'
import { AppError } from '@atrium/kernel/errors'
import type { ServiceScope } from '@atrium/kernel/http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RealmHandler } from '../ports.ts'

const MAX_FORM_BYTES = 16_384
export const FORM = 'application/x-www-form-urlencoded'

const tooLarge = (): AppError =>
  new AppError(413, 'body_too_large', `The form is larger than ${MAX_FORM_BYTES} bytes`)

function refuseOtherBodies(scope: ServiceScope): void {
  scope.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume()
    done(new AppError(400, 'invalid_content_type', `Send the parameters as ${FORM}`))
  })
}

/** OAuth reads forms. The library parses them itself, so the body is left in the stream. */
export function leaveForms(scope: ServiceScope): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(FORM, (request, _payload, done) => {
    if (Number(request.headers['content-length'] ?? 0) > MAX_FORM_BYTES) done(tooLarge())
    else done(null)
  })
  refuseOtherBodies(scope)
  // The contract describes forms; checking them is the library's part.
  scope.setValidatorCompiler(() => () => true)
}

/** Our own pages get their forms as an object of texts; of a field that comes twice the last counts. */
export function readForms(scope: ServiceScope): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser<string>(
    FORM,
    { parseAs: 'string', bodyLimit: MAX_FORM_BYTES },
    (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(body))),
  )
  refuseOtherBodies(scope)
}

/** Until the library has found out who calls. */
const NOBODY = { kind: 'system', qxId: '', name: '' } as const

/** @param answer the library on the keys that are published now; `path` is the one below its issuer */
export const handOverTo =
  (answer: RealmHandler) =>
  (path: string | ((request: FastifyRequest) => string)) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.hijack()
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) reply.raw.setHeader(name, value)
    }
    request.raw.url = typeof path === 'string' ? path : path(request)
    await answer(request.raw, reply.raw, { address: request.ip, act: actOfCaller(request, NOBODY) })
  }

/** With the query of the request, where the endpoint has one. */
export const withQuery = (path: string) => (request: FastifyRequest) => {
  const at = request.raw.url?.indexOf('?') ?? -1
  return at === -1 ? path : path + (request.raw.url ?? '').slice(at)
}
