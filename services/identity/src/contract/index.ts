export {
  Account,
  AccountChanges,
  AccountInput,
  AccountList,
  AccountParams,
  AccountQuery,
  AccountWithLink,
  LinkQuery,
} from './accounts.ts'
export {
  Discovery,
  Empty,
  errors,
  IntrospectionRequest,
  IntrospectionResponse,
  KeySet,
  OAuthError,
  RevocationRequest,
  TokenRequest,
  TokenResponse,
} from './oauth.ts'
export {
  AuthorizationQuery,
  EndSessionQuery,
  Html,
  htmlErrors,
  PeopleDiscovery,
  Redirect,
  UserInfo,
  UserTokenRequest,
  UserTokenResponse,
} from './people.ts'
export { PasswordChange, Session, SessionList, SessionParams } from './sessions.ts'
