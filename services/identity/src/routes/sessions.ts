import { actOf, callerOf, type UserPrincipal } from '@atrium/access'
import type { ServiceScope } from '@atrium/kernel/http'
import type { FastifyRequest } from 'fastify'
import type { PeopleContext } from '../context.ts'
import { Empty, errors, PasswordChange, SessionList, SessionParams, UserInfo } from '../contract/index.ts'
import { PEOPLE_PAGES, PEOPLE_PATH } from '../domain/realms.ts'
import { noSuchAccount, tooManyAttempts, wrongPassword } from '../errors.ts'

const tags = ['Sessions']

/** The access table lets people alone come here. */
function personOf(request: FastifyRequest): UserPrincipal {
  const caller = callerOf(request)
  if (caller.kind !== 'user') throw new Error(`${request.url} was opened to a ${caller.kind}`)
  return caller
}

/** What signed-in people do with their own sign-ins. */
export function sessionRoutes(scope: ServiceScope, context: PeopleContext): void {
  const { guard, sessions } = context

  scope.route({
    method: 'GET',
    url: '/v1/sessions',
    ...guard('listSessions'),
    schema: {
      tags,
      summary: 'Your living sessions, newest first',
      response: { 200: SessionList, ...errors(401, 403, 500, 503) },
    },
    async handler(request) {
      const { qxId, sessionId } = personOf(request)
      const living = await sessions.list(qxId)
      return {
        sessions: living.map((session) => ({
          ...session,
          createdAt: session.createdAt.toISOString(),
          lastUsedAt: session.lastUsedAt.toISOString(),
          expiresAt: session.expiresAt.toISOString(),
          current: session.sessionId === sessionId,
        })),
      }
    },
  })

  scope.route({
    method: 'DELETE',
    url: '/v1/sessions',
    ...guard('endOtherSessions'),
    schema: {
      tags,
      summary: 'End all your sessions but this one',
      response: { 204: Empty, ...errors(401, 403, 500, 503) },
    },
    async handler(request, reply) {
      const { qxId, sessionId } = personOf(request)
      await sessions.endOthers(qxId, sessionId, actOf(request))
      return reply.code(204).send(null)
    },
  })

  scope.route({
    method: 'DELETE',
    url: '/v1/sessions/:sessionId',
    ...guard('endSession'),
    schema: {
      tags,
      summary: 'End one of your sessions; its tokens stop everywhere within a second',
      params: SessionParams,
      response: { 204: Empty, ...errors(400, 401, 403, 404, 500, 503) },
    },
    async handler(request, reply) {
      await sessions.end(personOf(request).qxId, request.params.sessionId, actOf(request))
      return reply.code(204).send(null)
    },
  })
  accountRoutes(scope, context)
}

function accountRoutes(scope: ServiceScope, context: PeopleContext): void {
  const { guard, accounts, passwords } = context

  scope.route({
    method: 'POST',
    url: '/v1/password',
    ...guard('changePassword'),
    schema: {
      tags,
      summary: 'Change your password; ends your other sessions',
      body: PasswordChange,
      response: { 204: Empty, ...errors(400, 401, 403, 404, 413, 429, 500, 503) },
    },
    async handler(request, reply) {
      const { qxId, sessionId } = personOf(request)
      const { currentPassword, newPassword } = request.body
      if ((await accounts.find(qxId)) === undefined) throw noSuchAccount(qxId)
      const attempt = await passwords.attempt(qxId, currentPassword, request.ip)
      if (attempt.outcome === 'throttled') throw tooManyAttempts(attempt.waitSeconds)
      if (attempt.outcome === 'refused') throw wrongPassword()
      await accounts.setPassword(qxId, newPassword, { act: actOf(request), keepSessionId: sessionId })
      return reply.code(204).send(null)
    },
  })

  const userInfo = (ownErrors: object) => ({
    url: `${PEOPLE_PATH}${PEOPLE_PAGES.userInfo}`,
    schema: {
      tags: ['People’s tokens'],
      summary: 'Who the token speaks for (OpenID Connect)',
      response: { 200: UserInfo, ...errors(401, 403, 500, 503), ...ownErrors },
    },
    async handler(request: FastifyRequest) {
      const { qxId, name } = personOf(request)
      const account = await accounts.find(qxId)
      return {
        sub: qxId,
        qxId,
        name: account?.name ?? name,
        preferred_username: qxId,
        ...(account === undefined || account.mailAddress === '' ? {} : { email: account.mailAddress }),
      }
    },
  })
  scope.route({ method: 'GET', ...userInfo({}), ...guard('getUserInfo') })
  scope.route({ method: 'POST', ...userInfo(errors(400, 413)), ...guard('postUserInfo') })
}
