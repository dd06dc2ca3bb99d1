import { AppError } from '@atrium/kernel/errors'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { errorPage } from '../pages/messages.ts'
import type { Page } from '../pages/page.ts'

export function sendPage(reply: FastifyReply, page: Page, status = 200): FastifyReply {
  return reply
    .code(status)
    .header('content-security-policy', page.policy)
    .type('text/html; charset=utf-8')
    .send(page.html)
}

/** Failures of what browsers open are pages. */
export function answerError(error: FastifyError | AppError, request: FastifyRequest, reply: FastifyReply) {
  const status = error instanceof AppError ? error.status : (error.statusCode ?? 500)
  if (error instanceof AppError && error.headers !== undefined) reply.headers(error.headers)
  if (status >= 500) request.log.error({ err: error, requestId: request.id }, 'a page failed')
  const isOurs = error instanceof AppError || status < 500
  const reason = isOurs ? error.message : `Internal error; quote request ${request.id}`
  return sendPage(reply, errorPage(reason), status)
}
