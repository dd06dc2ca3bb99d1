import { actOfCaller } from '@atrium/access'
import { AppError } from '@atrium/kernel/errors'
import type { ServiceScope } from '@atrium/kernel/http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PeopleContext } from '../context.ts'
import { Html, htmlErrors, LinkQuery } from '../contract/index.ts'
import { PEOPLE_PAGES, PEOPLE_PATH } from '../domain/realms.ts'
import {
  choosePasswordPage,
  invitationPage,
  joinedPage,
  passwordChosenPage,
} from '../pages/choose-password.ts'
import type { Fault } from '../pages/page.ts'
import { sendPage } from './answer-page.ts'
import { demandSameSite, type Form, faultsOf } from './forms.ts'
import { FORM } from './hand-over.ts'
import { publicRoute } from './public-route.ts'

const tags = ['Pages']

/** The person acts by themselves: the link is the proof. */
const actOf = (request: FastifyRequest, qxId: string, name: string) =>
  actOfCaller(request, { kind: 'user', qxId, name })

/** Pages that a link opens, once: nobody is signed in here, so the token in the link is all the proof there is. */
export function choosePasswordRoutes(scope: ServiceScope, context: PeopleContext): void {
  const { realms, passwordLinks } = context
  const action = `${realms.peopleIssuer}${PEOPLE_PAGES.choosePassword}`
  const url = `${PEOPLE_PATH}${PEOPLE_PAGES.choosePassword}`

  scope.route<{ Querystring: { token?: string } }>({
    method: 'GET',
    url,
    ...publicRoute('showChoosePassword'),
    schema: {
      tags,
      summary: 'The page on which somebody chooses a password by a link',
      querystring: LinkQuery,
      response: { 200: Html('The page'), ...htmlErrors(400, 410, 429, 500, 503) },
    },
    async handler(request, reply) {
      const { token = '' } = request.query
      const user = await passwordLinks.personOf(token)
      return sendPage(reply, choosePasswordPage({ action, token, user, faults: [] }))
    },
  })

  scope.route<{ Body: Form }>({
    method: 'POST',
    url,
    ...publicRoute('choosePassword'),
    schema: {
      tags,
      summary: 'Choose a password by a link; ends the link and all sessions of the person',
      consumes: [FORM],
      response: { 200: Html('The password is set'), ...htmlErrors(400, 410, 413, 429, 500, 503) },
    },
    async handler(request, reply) {
      demandSameSite(request)
      const form = request.body ?? {}
      const { token = '' } = form
      const qxId = await passwordLinks.personOf(token)
      const faults = faultsOf(form)
      if (faults.length > 0) {
        return sendPage(reply, choosePasswordPage({ action, token, user: qxId, faults }), 400)
      }
      await passwordLinks.choose({ qxId, token, password: form.new ?? '', act: actOf(request, qxId, qxId) })
      return sendPage(reply, passwordChosenPage(qxId))
    },
  })
  invitationRoutes(scope, context)
}

function invitationRoutes(scope: ServiceScope, { realms, invitations }: PeopleContext): void {
  const action = `${realms.peopleIssuer}${PEOPLE_PAGES.invitation}`
  const url = `${PEOPLE_PATH}${PEOPLE_PAGES.invitation}`

  scope.route<{ Querystring: { token?: string } }>({
    method: 'GET',
    url,
    ...publicRoute('showInvitation'),
    schema: {
      tags,
      summary: 'The page on which somebody without an account accepts an invitation',
      querystring: LinkQuery,
      response: { 200: Html('The page'), ...htmlErrors(400, 410, 429, 500, 503) },
    },
    async handler(request, reply) {
      const { token = '' } = request.query
      const { spaceName } = await invitations.open(token)
      return sendPage(reply, invitationPage({ action, token, spaceName, user: '', name: '', faults: [] }))
    },
  })

  scope.route<{ Body: Form }>({
    method: 'POST',
    url,
    ...publicRoute('acceptInvitationOnPage'),
    schema: {
      tags,
      summary: 'Make an account with a first password, and join the space of the invitation',
      consumes: [FORM],
      response: { 200: Html('The account is made'), ...htmlErrors(400, 409, 410, 413, 429, 500, 503) },
    },
    async handler(request, reply) {
      demandSameSite(request)
      const { token = '', user = '', name = '', ...form } = request.body ?? {}
      const { spaceName } = await invitations.open(token)
      const refuse = (status: number, faults: readonly Fault[]): FastifyReply =>
        sendPage(reply, invitationPage({ action, token, spaceName, user, name, faults }), status)
      const faults = faultsOf(form)
      if (faults.length > 0) return refuse(400, faults)
      const newcomer = { qxId: user, name: name.trim() === '' ? user : name.trim(), password: form.new ?? '' }
      const refusal = await invitations.accept(token, newcomer, actOf(request, user, newcomer.name)).then(
        () => undefined,
        (error: unknown) => (isAboutName(error) ? error : Promise.reject(error)),
      )
      if (refusal === undefined) return sendPage(reply, joinedPage(user, spaceName))
      const message =
        refusal.field === undefined
          ? refusal.message
          : `The user name ${refusal.message.replace('qxId ', '')}`
      return refuse(refusal.status, [{ field: 'user', message }])
    },
  })
}

/** What another user name would mend. */
const isAboutName = (error: unknown): error is AppError =>
  error instanceof AppError && (error.field === 'qxId' || error.status === 409)
