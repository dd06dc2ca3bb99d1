import { AppError } from '@atrium/kernel/errors'
import type { FastifyRequest } from 'fastify'
import { faultOfPassword } from '../domain/accounts.ts'
import type { Fault } from '../pages/page.ts'

export type Form = Readonly<Record<string, string>>

/** Browsers say where a form comes from; a form of another site is none of ours. */
export function demandSameSite(request: FastifyRequest): void {
  const site = request.headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    throw new AppError(400, 'invalid_request', 'The form was sent by another site')
  }
}

/** What is wrong with a new password that was typed twice. */
export function faultsOf(form: Form): Fault[] {
  const fault = faultOfPassword(form.new ?? '')
  return [
    ...(fault === undefined ? [] : [{ field: 'new', message: `The new password ${fault}` }]),
    ...(form.new === form.again
      ? []
      : [{ field: 'again', message: 'The new password is not the same both times' }]),
  ]
}
