import { actOf } from '@atrium/access'
import {
  ifMatchVersions,
  pageRequest,
  paginationOf,
  type ServiceScope,
  setEtag,
  withEtag,
} from '@atrium/kernel/http'
import type { FastifyReply } from 'fastify'
import type { Static } from 'typebox'
import type { AccountsContext } from '../context.ts'
import {
  Account as AccountBody,
  AccountChanges,
  AccountInput,
  AccountList,
  AccountParams,
  AccountQuery,
  AccountWithLink,
  errors,
} from '../contract/index.ts'
import type { AccountWithLink as GivenLink } from '../domain/account-administration.ts'
import type { Account } from '../domain/accounts.ts'

const tags = ['Accounts']
const path = '/v1/admin/accounts'

const present = (account: Account): Static<typeof AccountBody> => ({
  qxId: account.qxId,
  name: account.name,
  mailAddress: account.mailAddress,
  disabled: account.isDisabled,
  passwordChangedAt: account.passwordChangedAt.toISOString(),
  createdAt: account.createdAt.toISOString(),
  updatedAt: account.updatedAt.toISOString(),
})

function answer(reply: FastifyReply, account: Account): Static<typeof AccountBody> {
  setEtag(reply, account.version)
  return present(account)
}

const handOver = (reply: FastifyReply, { account, link }: GivenLink): Static<typeof AccountWithLink> => ({
  ...answer(reply, account),
  linkExpiresAt: link.expiresAt.toISOString(),
  ...(link.address === undefined
    ? { delivery: 'mail' as const }
    : { delivery: 'answer' as const, passwordLink: link.address }),
})

/** Accounts of other people, for superusers. */
export function accountRoutes(scope: ServiceScope, { guard, administration }: AccountsContext): void {
  accountCollection(scope, { guard, administration })

  scope.route({
    method: 'GET',
    url: `${path}/:qxId`,
    ...guard('getAccount'),
    schema: {
      tags,
      summary: 'Read a person’s account',
      params: AccountParams,
      response: { 200: withEtag(AccountBody), ...errors(401, 403, 404, 409, 429, 500, 503) },
    },
    handler: async (request, reply) => answer(reply, await administration().get(request.params.qxId)),
  })

  scope.route({
    method: 'PATCH',
    url: `${path}/:qxId`,
    ...guard('updateAccount'),
    schema: {
      tags,
      summary: 'Change the given fields of an account; disabling it ends all its sessions and tokens',
      params: AccountParams,
      body: AccountChanges,
      response: { 200: withEtag(AccountBody), ...errors(400, 401, 403, 404, 409, 412, 413, 429, 500, 503) },
    },
    async handler(request, reply) {
      const { qxId } = request.params
      const versions = ifMatchVersions(request)
      return answer(reply, await administration().change(qxId, request.body, actOf(request), versions))
    },
  })

  scope.route({
    method: 'POST',
    url: `${path}/:qxId([^/]+)::reset-password`,
    ...guard('resetAccountPassword'),
    schema: {
      tags,
      summary: 'Give out a link by which the person chooses another password, by mail or in the answer',
      params: AccountParams,
      response: {
        200: withEtag(AccountWithLink),
        ...errors(400, 401, 403, 404, 409, 413, 429, 500, 502, 503),
      },
    },
    handler: async (request, reply) =>
      handOver(reply, await administration().resetPassword(request.params.qxId, actOf(request))),
  })
}

function accountCollection(scope: ServiceScope, { guard, administration }: AccountsContext): void {
  scope.route({
    method: 'POST',
    url: path,
    ...guard('createAccount'),
    schema: {
      tags,
      summary: 'Make an account; its person chooses the first password by a link, mailed or in the answer',
      body: AccountInput,
      response: { 201: withEtag(AccountWithLink), ...errors(400, 401, 403, 409, 413, 429, 500, 502, 503) },
    },
    async handler(request, reply) {
      const made = await administration().create(request.body, actOf(request))
      return reply.code(201).send(handOver(reply, made))
    },
  })

  scope.route({
    method: 'GET',
    url: path,
    ...guard('listAccounts'),
    schema: {
      tags,
      summary: 'List people’s accounts, a page at a time',
      querystring: AccountQuery,
      response: { 200: AccountList, ...errors(400, 401, 403, 409, 429, 500, 503) },
    },
    async handler(request) {
      const part = pageRequest(request.query)
      const { limit } = request.query
      const { accounts, total } = await administration().list({
        ...request.query,
        limit,
        offset: part.offset,
      })
      return { data: accounts.map(present), pagination: paginationOf(total, part) }
    },
  })
}
