import Type from 'typebox'

export const AuthorizationQuery = Type.Object({
  client_id: Type.Optional(Type.String()),
  response_type: Type.Optional(Type.String({ description: 'code' })),
  redirect_uri: Type.Optional(Type.String()),
  scope: Type.Optional(Type.String({ description: 'openid, and as wanted profile, email' })),
  state: Type.Optional(Type.String()),
  nonce: Type.Optional(Type.String()),
  code_challenge: Type.Optional(Type.String()),
  code_challenge_method: Type.Optional(Type.String({ description: 'S256' })),
  prompt: Type.Optional(Type.String({ description: 'none, login or consent' })),
  login_hint: Type.Optional(Type.String({ description: 'User name to begin with' })),
})

export const UserTokenRequest = Type.Object({
  grant_type: Type.Optional(Type.String({ description: 'authorization_code or refresh_token' })),
  client_id: Type.Optional(Type.String()),
  code: Type.Optional(Type.String()),
  code_verifier: Type.Optional(Type.String()),
  redirect_uri: Type.Optional(Type.String()),
  refresh_token: Type.Optional(Type.String()),
})

export const UserTokenResponse = Type.Object({
  access_token: Type.String(),
  refresh_token: Type.String({ description: 'Good for one use; the answer to it brings the next' }),
  id_token: Type.Optional(Type.String()),
  scope: Type.String(),
  token_type: Type.Literal('Bearer'),
  expires_in: Type.Integer({ description: 'Seconds' }),
})

export const EndSessionQuery = Type.Object({
  id_token_hint: Type.Optional(Type.String({ description: 'With it nobody is asked to confirm' })),
  client_id: Type.Optional(Type.String()),
  post_logout_redirect_uri: Type.Optional(Type.String()),
  state: Type.Optional(Type.String()),
})

export const UserInfo = Type.Object({
  sub: Type.String(),
  qxId: Type.String(),
  name: Type.String(),
  preferred_username: Type.String(),
  email: Type.Optional(Type.String()),
})

/** OpenID Connect Discovery 1.0. */
export const PeopleDiscovery = Type.Object(
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
