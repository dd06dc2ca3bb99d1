export {
  Discovery,
  errors,
  IntrospectionRequest,
  IntrospectionResponse,
  KeySet,
  OAuthError,
  TokenRequest,
  TokenResponse,
} from './oauth.ts'
