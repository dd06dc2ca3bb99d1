import { networkOf } from '@atrium/access'
import type { ServiceScope } from '@atrium/kernel/http'
import type { FastifyRequest } from 'fastify'
import type { PeopleContext } from '../context.ts'
import {
  AuthorizationQuery,
  Empty,
  EndSessionQuery,
  errors,
  Html,
  htmlErrors,
  KeySet,
  OAuthError,
  PeopleDiscovery,
  Redirect,
  RevocationRequest,
  UserTokenRequest,
  UserTokenResponse,
} from '../contract/index.ts'
import { checkAuthorizationSize } from '../domain/authorization-size.ts'
import { PEOPLE_PATH, PEOPLE_ROUTES } from '../domain/realms.ts'
import { tooManySignIns } from '../errors.ts'
import { answerError } from './answer-page.ts'
import { FORM, handOverTo, leaveForms, withQuery } from './hand-over.ts'
import { publicRoute } from './public-route.ts'

const tags = ['People’s tokens']

const PageOrError = {
  description: 'What is wrong, as a page or as JSON',
  content: { ...Html('').content, 'application/json': { schema: OAuthError } },
}

/** Endpoints of the realm that serves people; each hands the raw request over to the OAuth library. */
export function peopleRealmRoutes(parent: ServiceScope, context: PeopleContext): void {
  void parent.register((scope: ServiceScope, _options, ready) => {
    leaveForms(scope)
    const handOver = handOverTo(context.peopleRealm)

    scope.route({
      method: 'GET',
      url: `${PEOPLE_PATH}${PEOPLE_ROUTES.authorization}`,
      ...publicRoute('authorizePerson'),
      schema: {
        tags,
        summary: 'Begin to sign in: authorization code with PKCE',
        querystring: AuthorizationQuery,
        response: { 303: Redirect, ...htmlErrors(400, 429, 500, 503) },
      },
      errorHandler: answerError,
      preHandler: beginsInMeasure(context),
      handler: handOver(withQuery(PEOPLE_ROUTES.authorization)),
    })

    scope.route<{ Params: { uid: string } }>({
      method: 'GET',
      url: `${PEOPLE_PATH}${PEOPLE_ROUTES.authorization}/:uid`,
      ...publicRoute('resumeAuthorization'),
      schema: {
        tags,
        summary: 'Go on to the application, with a code',
        response: { 303: Redirect, ...htmlErrors(400, 500, 503), ...errors(429) },
      },
      handler: handOver((request) => {
        const { uid } = request.params as { uid: string }
        return `${PEOPLE_ROUTES.authorization}/${encodeURIComponent(uid)}`
      }),
    })

    tokenRoutes(scope, handOver)
    describeRoutes(scope, handOver)
    signOutRoutes(scope, handOver)
    ready()
  })
}

/** Sign-ins under way are stored before anybody has proved anything, so they are small and few. */
const beginsInMeasure =
  ({ throttle, authorizationsPerMinute: burst }: PeopleContext) =>
  async (request: FastifyRequest): Promise<void> => {
    checkAuthorizationSize(new URLSearchParams(withQuery('')(request)))
    const limit = { key: `authorize ${networkOf(request.ip)}`, burst, everySeconds: 60 / burst }
    const waitSeconds = await throttle.take(limit)
    if (waitSeconds > 0) throw tooManySignIns(waitSeconds)
  }

type HandOver = ReturnType<typeof handOverTo>

function tokenRoutes(scope: ServiceScope, handOver: HandOver): void {
  scope.route({
    method: 'POST',
    url: `${PEOPLE_PATH}${PEOPLE_ROUTES.token}`,
    ...publicRoute('issueUserToken'),
    schema: {
      tags,
      summary: 'Exchange a code or a refresh token for tokens',
      consumes: [FORM],
      body: UserTokenRequest,
      response: { 200: UserTokenResponse, ...errors(400, 401, 413, 429, 500, 503) },
    },
    handler: handOver(PEOPLE_ROUTES.token),
  })

  scope.route({
    method: 'POST',
    url: `${PEOPLE_PATH}${PEOPLE_ROUTES.revocation}`,
    ...publicRoute('revokeUserToken'),
    schema: {
      tags,
      summary: 'Give up a refresh or access token, and with it the application’s grant',
      consumes: [FORM],
      body: RevocationRequest,
      response: { 200: Empty, ...errors(400, 401, 413, 429, 500, 503) },
    },
    handler: handOver(PEOPLE_ROUTES.revocation),
  })
}

function describeRoutes(scope: ServiceScope, handOver: HandOver): void {
  scope.route({
    method: 'GET',
    url: `${PEOPLE_PATH}/.well-known/openid-configuration`,
    ...publicRoute('getPeopleDiscovery'),
    schema: {
      tags,
      summary: 'Where the endpoints of this issuer are',
      response: { 200: PeopleDiscovery },
    },
    handler: handOver('/.well-known/openid-configuration'),
  })

  scope.route({
    method: 'GET',
    url: `${PEOPLE_PATH}${PEOPLE_ROUTES.jwks}`,
    ...publicRoute('getPeopleKeys'),
    schema: {
      tags,
      summary: 'Public keys that verify the tokens',
      response: { 200: KeySet },
    },
    handler: handOver(PEOPLE_ROUTES.jwks),
  })
}

function signOutRoutes(scope: ServiceScope, handOver: HandOver): void {
  scope.route({
    method: 'GET',
    url: `${PEOPLE_PATH}${PEOPLE_ROUTES.end_session}`,
    ...publicRoute('requestSignOut'),
    schema: {
      tags,
      summary: 'Sign out (OpenID Connect RP-Initiated Logout)',
      querystring: EndSessionQuery,
      response: {
        200: Html('Asks for confirmation'),
        303: Redirect,
        400: PageOrError,
        ...htmlErrors(500, 503),
        ...errors(429),
      },
    },
    handler: handOver(withQuery(PEOPLE_ROUTES.end_session)),
  })

  scope.route({
    method: 'POST',
    url: `${PEOPLE_PATH}${PEOPLE_ROUTES.end_session}/confirm`,
    ...publicRoute('confirmSignOut'),
    schema: {
      tags,
      summary: 'The person confirmed to sign out',
      consumes: [FORM],
      // What is no form is refused before the page's own library sees it.
      response: { 303: Redirect, 400: PageOrError, ...htmlErrors(500, 503), ...errors(413, 429) },
    },
    handler: handOver(`${PEOPLE_ROUTES.end_session}/confirm`),
  })

  scope.route({
    method: 'GET',
    url: `${PEOPLE_PATH}${PEOPLE_ROUTES.end_session}/success`,
    ...publicRoute('showSignedOut'),
    schema: {
      tags,
      summary: 'Says that the person is signed out',
      response: { 200: Html('Signed out'), ...errors(429) },
    },
    handler: handOver(`${PEOPLE_ROUTES.end_session}/success`),
  })
}
