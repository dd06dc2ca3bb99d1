import type { ServiceScope } from '@atrium/kernel/http'
import {
  AuthorizationQuery,
  Empty,
  EndSessionQuery,
  errors,
  Html,
  htmlErrors,
  KeySet,
  PeopleDiscovery,
  Redirect,
  RevocationRequest,
  UserTokenRequest,
  UserTokenResponse,
} from '../contract/index.ts'
import { PEOPLE_PATH, PEOPLE_ROUTES } from '../domain/realms.ts'
import type { PeopleContext } from './context.ts'
import { FORM, handOverTo, leaveForms, withQuery } from './hand-over.ts'
import { publicRoute } from './public-route.ts'

const tags = ['People’s tokens']

/** Endpoints of the realm that serves people; each hands the raw request over to the OAuth library. */
export function peopleRealmRoutes(parent: ServiceScope, context: PeopleContext): void {
  void parent.register((scope: ServiceScope, _options, ready) => {
    leaveForms(scope)
    const handOver = handOverTo(context.peopleRealm, context.publicUrl)

    scope.route({
      method: 'GET',
      url: `${PEOPLE_PATH}${PEOPLE_ROUTES.authorization}`,
      ...publicRoute('authorizePerson'),
      schema: {
        tags,
        summary: 'Begin to sign in: authorization code with PKCE',
        querystring: AuthorizationQuery,
        response: { 303: Redirect, ...htmlErrors(400, 500) },
      },
      handler: handOver(withQuery(PEOPLE_ROUTES.authorization)),
    })

    scope.route<{ Params: { uid: string } }>({
      method: 'GET',
      url: `${PEOPLE_PATH}${PEOPLE_ROUTES.authorization}/:uid`,
      ...publicRoute('resumeAuthorization'),
      schema: {
        tags,
        summary: 'Go on to the application, with a code',
        response: { 303: Redirect, ...htmlErrors(400, 500) },
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
      response: { 200: UserTokenResponse, ...errors(400, 401, 413, 500) },
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
      response: { 200: Empty, ...errors(400, 401, 413, 500) },
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
      response: { 200: Html('Asks for confirmation'), 303: Redirect, ...htmlErrors(400, 500) },
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
      response: { 303: Redirect, ...htmlErrors(400, 413, 500) },
    },
    handler: handOver(`${PEOPLE_ROUTES.end_session}/confirm`),
  })

  scope.route({
    method: 'GET',
    url: `${PEOPLE_PATH}${PEOPLE_ROUTES.end_session}/success`,
    ...publicRoute('showSignedOut'),
    schema: { tags, summary: 'Says that the person is signed out', response: { 200: Html('Signed out') } },
    handler: handOver(`${PEOPLE_ROUTES.end_session}/success`),
  })
}
