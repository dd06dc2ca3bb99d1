import { named } from '@atrium/kernel/http'
import Type from 'typebox'

/** Errors of OAuth (RFC 6749 §5.2), and of everything else below `/auth`. */
export const OAuthError = named(
  'Error',
  Type.Object({
    error: Type.String({ description: 'Machine-readable, e.g. invalid_client' }),
    error_description: Type.String(),
  }),
)

const MEANINGS: Readonly<Record<number, string>> = {
  400: 'The request is not valid',
  401: 'The client or the bearer token could not be authenticated',
  403: 'Not open to this kind of caller',
  404: 'Not found',
  409: 'It contradicts what is there',
  412: 'If-Match names another version',
  413: 'The body is too large',
  429: 'Too many failed attempts; see Retry-After',
  500: 'Internal error',
  502: 'The mail server did not take the mail',
  503: 'Too busy, or the database or the issuer of the token cannot be reached; see Retry-After',
}

/** Response schemas of the given error statuses. */
export const errors = (...statuses: number[]) =>
  Object.fromEntries(
    statuses.map((status) => [status, { description: MEANINGS[status] ?? 'Error', ...OAuthError }]),
  )

const credentials = {
  client_id: Type.Optional(Type.String({ description: 'Unless sent by HTTP Basic' })),
  client_secret: Type.Optional(Type.String({ description: 'Unless sent by HTTP Basic' })),
}

export const TokenRequest = named(
  'TokenRequest',
  Type.Object({
    grant_type: Type.Optional(Type.String({ description: 'client_credentials' })),
    scope: Type.Optional(Type.String({ description: 'machine2machine' })),
    ...credentials,
  }),
)

export const TokenResponse = named(
  'TokenResponse',
  Type.Object({
    access_token: Type.String(),
    scope: Type.String(),
    token_type: Type.Literal('Bearer'),
    expires_in: Type.Integer({ description: 'Seconds' }),
  }),
)

export const IntrospectionRequest = named(
  'IntrospectionRequest',
  Type.Object({
    token: Type.Optional(Type.String({ description: 'A token that was issued to the calling client' })),
    token_type_hint: Type.Optional(Type.String()),
    ...credentials,
  }),
)

export const RevocationRequest = named(
  'RevocationRequest',
  Type.Object({
    token: Type.Optional(Type.String({ description: 'A token that was issued to the calling client' })),
    token_type_hint: Type.Optional(Type.String()),
    ...credentials,
  }),
)

/** No body. */
export const Empty = { description: 'Done', ...Type.Null() }

/** `active` alone where the token is not good, or not the caller's own (RFC 7662 §2.2). */
export const IntrospectionResponse = named(
  'IntrospectionResponse',
  Type.Object({
    active: Type.Boolean(),
    scope: Type.Optional(Type.String()),
    client_id: Type.Optional(Type.String()),
    token_type: Type.Optional(Type.String()),
    sub: Type.Optional(Type.String()),
    iss: Type.Optional(Type.String()),
    aud: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
    jti: Type.Optional(Type.String()),
    iat: Type.Optional(Type.Integer()),
    exp: Type.Optional(Type.Integer()),
  }),
)

/** RFC 8414. */
export const Discovery = named(
  'AuthorizationServer',
  Type.Object(
    {
      issuer: Type.String(),
      token_endpoint: Type.String(),
      jwks_uri: Type.String(),
      introspection_endpoint: Type.String(),
      grant_types_supported: Type.Array(Type.String()),
      scopes_supported: Type.Array(Type.String()),
      token_endpoint_auth_methods_supported: Type.Array(Type.String()),
    },
    { additionalProperties: true },
  ),
)

/** RFC 7517; public parts only. */
const JsonWebKeySet = named(
  'JsonWebKeySet',
  Type.Object({
    keys: Type.Array(
      named(
        'JsonWebKey',
        Type.Object(
          { kty: Type.String(), kid: Type.String(), alg: Type.String(), use: Type.Literal('sig') },
          { additionalProperties: true },
        ),
      ),
    ),
  }),
)

export const KeySet = {
  description: 'The keys',
  content: { 'application/jwk-set+json': { schema: JsonWebKeySet } },
}
