import { actOfCaller } from '@atrium/access'
import type { ServiceScope } from '@atrium/kernel/http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PeopleContext } from '../context.ts'
import { Html, htmlErrors, Redirect } from '../contract/index.ts'
import type { Account } from '../domain/accounts.ts'
import { PEOPLE_PAGES, PEOPLE_PATH } from '../domain/realms.ts'
import type { Attempt } from '../domain/sign-in.ts'
import { passwordChangedPage } from '../pages/messages.ts'
import type { Fault, Page } from '../pages/page.ts'
import { passwordPage } from '../pages/password.ts'
import { signInPage } from '../pages/sign-in.ts'
import type { Interaction } from '../ports.ts'
import { answerError, sendPage } from './answer-page.ts'
import { choosePasswordRoutes } from './choose-password.ts'
import { demandSameSite, type Form, faultsOf } from './forms.ts'
import { FORM, readForms } from './hand-over.ts'
import { publicRoute } from './public-route.ts'

type SignInRequest = FastifyRequest<{ Params: { uid: string } }>

const tags = ['Pages']
const SIGN_IN_URL = `${PEOPLE_PATH}${PEOPLE_PAGES.signIn}/:uid`
const PASSWORD_URL = `${PEOPLE_PATH}${PEOPLE_PAGES.password}`

/** One sentence for a wrong password, an unknown and a disabled account. */
const WRONG_PAIR = 'The user name or the password is wrong'

/** What the page says of an attempt that did not succeed, and with which status. */
function refusalOf(attempt: Exclude<Attempt, { outcome: 'accepted' }>, reply: FastifyReply) {
  if (attempt.outcome === 'refused') return { status: 401, fault: { field: 'user', message: WRONG_PAIR } }
  const { waitSeconds } = attempt
  reply.header('retry-after', String(waitSeconds))
  const wait = waitSeconds < 90 ? `${waitSeconds} seconds` : `${Math.ceil(waitSeconds / 60)} minutes`
  return { status: 429, fault: { message: `Too many attempts. Try again in ${wait}.` } }
}

/** The pages that people see: sign in, and change the password. They work without scripts. */
export function pageRoutes(parent: ServiceScope, context: PeopleContext): void {
  void parent.register((scope: ServiceScope, _options, ready) => {
    readForms(scope)
    scope.setErrorHandler(answerError)
    signInRoutes(scope, context)
    passwordRoutes(scope, context)
    choosePasswordRoutes(scope, context)
    ready()
  })
}

/** What the sign-in page says, to whom, and what of it went wrong. */
function signInPageOf(
  { realms }: PeopleContext,
  uid: string,
  interaction: Interaction,
  user: string,
  faults: readonly Fault[],
): Page {
  return signInPage({
    application: interaction.applicationName,
    action: `${realms.peopleIssuer}${PEOPLE_PAGES.signIn}/${encodeURIComponent(uid)}`,
    csrf: interaction.csrf,
    user,
    faults,
    passwordPage: `${realms.peopleIssuer}${PEOPLE_PAGES.password}`,
    leadsTo: interaction.redirectUri,
  })
}

function signInRoutes(scope: ServiceScope, context: PeopleContext): void {
  const find = (request: SignInRequest, reply: FastifyReply): Promise<Interaction> =>
    context.interactions().find(request.raw, reply.raw, request.params.uid)

  scope.route<{ Params: { uid: string } }>({
    method: 'GET',
    url: SIGN_IN_URL,
    ...publicRoute('showSignIn'),
    schema: {
      tags,
      summary: 'The page on which people sign in',
      response: { 200: Html('The page'), 303: Redirect, ...htmlErrors(400, 429, 500, 503) },
    },
    async handler(request, reply) {
      const interaction = await find(request, reply)
      if (interaction.needsSignIn) {
        return sendPage(
          reply,
          signInPageOf(context, request.params.uid, interaction, interaction.loginHint, []),
        )
      }
      return reply.redirect(await context.interactions().consent(request.raw, reply.raw), 303)
    },
  })

  scope.route<{ Params: { uid: string }; Body: Form }>({
    method: 'POST',
    url: SIGN_IN_URL,
    ...publicRoute('signIn'),
    schema: {
      tags,
      summary: 'Sign in with user name and password',
      consumes: [FORM],
      response: { 303: Redirect, ...htmlErrors(400, 401, 413, 429, 500, 503) },
    },
    async handler(request, reply) {
      const { user = '', password = '', csrf = '' } = request.body ?? {}
      const interaction = await find(request, reply)
      demandSameSite(request)
      context.interactions().checkCsrf(request.params.uid, csrf)
      const attempt = await context.passwords.attempt(user, password, request.ip)
      if (attempt.outcome !== 'accepted') {
        const { status, fault } = refusalOf(attempt, reply)
        return sendPage(reply, signInPageOf(context, request.params.uid, interaction, user, [fault]), status)
      }
      const returnTo = await context.interactions().signIn(request.raw, reply.raw, {
        qxId: attempt.account.qxId,
        clientId: interaction.clientId,
        act: actOfPerson(request, attempt.account),
      })
      return reply.redirect(returnTo, 303)
    },
  })
}

function passwordRoutes(scope: ServiceScope, context: PeopleContext): void {
  const { realms, passwords, accounts } = context
  const action = `${realms.peopleIssuer}${PEOPLE_PAGES.password}`

  scope.route({
    method: 'GET',
    url: PASSWORD_URL,
    ...publicRoute('showPasswordPage'),
    schema: {
      tags,
      summary: 'The page on which people change their password',
      response: { 200: Html('The page'), ...htmlErrors(429) },
    },
    async handler(_request, reply) {
      return sendPage(reply, passwordPage({ action, user: '', faults: [] }))
    },
  })

  scope.route<{ Body: Form }>({
    method: 'POST',
    url: PASSWORD_URL,
    ...publicRoute('changePasswordOnPage'),
    schema: {
      tags,
      summary: 'Change the password; ends all sessions of the person',
      consumes: [FORM],
      response: { 200: Html('The password is changed'), ...htmlErrors(400, 401, 413, 429, 500, 503) },
    },
    async handler(request, reply) {
      demandSameSite(request)
      const form = request.body ?? {}
      const user = form.user ?? ''
      const refuse = (status: number, ...faults: Fault[]) =>
        sendPage(reply, passwordPage({ action, user, faults }), status)
      const faults = faultsOf(form)
      if (faults.length > 0) return refuse(400, ...faults)
      const attempt = await passwords.attempt(user, form.current ?? '', request.ip)
      if (attempt.outcome !== 'accepted') {
        const { status, fault } = refusalOf(attempt, reply)
        return refuse(status, fault)
      }
      const act = actOfPerson(request, attempt.account)
      await accounts.setPassword(attempt.account.qxId, form.new ?? '', { act })
      return sendPage(reply, passwordChangedPage())
    },
  })
}

/** What somebody does who has just proved who they are. */
const actOfPerson = (request: FastifyRequest, { qxId, name }: Account) =>
  actOfCaller(request, { kind: 'user', qxId, name })
