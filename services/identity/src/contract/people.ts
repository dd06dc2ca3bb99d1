import { named } from '@atrium/kernel/http'
import Type from 'typebox'

/** Short enough that all of them, written in ASCII, fit into the headers that a server takes (16 KiB). */
export const AuthorizationQuery = Type.Object({
  client_id: Type.Optional(Type.String({ maxLength: 256 })),
  response_type: Type.Optional(Type.String({ maxLength: 64, description: 'code' })),
  redirect_uri: Type.Optional(Type.String({ maxLength: 2048 })),
  scope: Type.Optional(Type.String({ maxLength: 512, description: 'openid, and as wanted profile, email' })),
  state: Type.Optional(Type.String({ maxLength: 2048 })),
  nonce: Type.Optional(Type.String({ maxLength: 2048 })),
  code_challenge: Type.Optional(Type.String({ maxLength: 128 })),
  code_challenge_method: Type.Optional(Type.String({ maxLength: 16, description: 'S256' })),
  prompt: Type.Optional(Type.String({ maxLength: 64, description: 'none, login or consent' })),
  login_hint: Type.Optional(Type.String({ maxLength: 2048, description: 'User name to begin with' })),
})

export const UserTokenRequest = named(
  'UserTokenRequest',
  Type.Object({
    grant_type: Type.Optional(Type.String({ description: 'authorization_code or refresh_token' })),
    client_id: Type.Optional(Type.String()),
    code: Type.Optional(Type.String()),
    code_verifier: Type.Optional(Type.String()),
    redirect_uri: Type.Optional(Type.String()),
    refresh_token: Type.Optional(Type.String()),
  }),
)

export const UserTokenResponse = named(
  'UserTokenResponse',
  Type.Object({
    access_token: Type.String(),
    refresh_token: Type.String({ description: 'Good for one use; the answer to it brings the next' }),
    id_token: Type.Optional(Type.String()),
    scope: Type.String(),
    token_type: Type.Literal('Bearer'),
    expires_in: Type.Integer({ description: 'Seconds' }),
  }),
)

export const EndSessionQuery = Type.Object({
  id_token_hint: Type.Optional(Type.String({ description: 'With it nobody is asked to confirm' })),
  client_id: Type.Optional(Type.String()),
  post_logout_redirect_uri: Type.Optional(Type.String()),
  state: Type.Optional(Type.String()),
})

export const UserInfo = named(
  'UserInfo',
  Type.Object({
    sub: Type.String(),
    qxId: Type.String(),
    name: Type.String(),
    preferred_username: Type.String(),
    email: Type.Optional(Type.String()),
  }),
)

/** OpenID Connect Discovery 1.0. */
export const PeopleDiscovery = named(
  'OpenIdConfiguration',
  Type.Object(
    {
      issuer: Type.String(),
      authorization_endpoint: Type.String(),
      token_endpoint: Type.String(),
      userinfo_endpoint: Type.String(),
      end_session_endpoint: Type.String(),
      revocation_endpoint: Type.String(),
      jwks_uri: Type.String(),
      code_challenge_methods_supported: Type.Array(Type.String()),
      response_types_supported: Type.Array(Type.String()),
      id_token_signing_alg_values_supported: Type.Array(Type.String()),
    },
    { additionalProperties: true },
  ),
)

export const Redirect = { description: 'The browser goes on', ...Type.Null() }

/** A page for people. */
export const Html = (description: string) => ({
  description,
  content: { 'text/html': { schema: Type.String() } },
})

/** Pages answer their failures as pages. */
export const htmlErrors = (...statuses: number[]) =>
  Object.fromEntries(statuses.map((status) => [status, Html('A page that says what is wrong')]))
