import { type AccessRule, defineAccess } from '@atrium/access'

/** What people do with their own sign-ins. */
const person = {
  user: 'any',
  client: 'forbidden',
  key: 'unauthorized',
} as const satisfies AccessRule

/** What superusers do with other people's accounts. */
const superuser = {
  user: 'superuser',
  client: 'superuser',
  key: 'unauthorized',
} as const satisfies AccessRule

/** OAuth endpoints and the pages of a sign-in authenticate their callers by themselves, so they take no bearer token. */
export const identityAccess = defineAccess({
  issueMachineToken: 'public',
  introspectMachineToken: 'public',
  revokeMachineToken: 'public',
  getMachineDiscovery: 'public',
  getMachineKeys: 'public',
  authorizePerson: 'public',
  resumeAuthorization: 'public',
  issueUserToken: 'public',
  revokeUserToken: 'public',
  getPeopleDiscovery: 'public',
  getPeopleKeys: 'public',
  requestSignOut: 'public',
  confirmSignOut: 'public',
  showSignedOut: 'public',
  showSignIn: 'public',
  signIn: 'public',
  showPasswordPage: 'public',
  changePasswordOnPage: 'public',
  showChoosePassword: 'public',
  choosePassword: 'public',
  showInvitation: 'public',
  acceptInvitationOnPage: 'public',
  getUserInfo: person,
  postUserInfo: person,
  listSessions: person,
  endOtherSessions: person,
  endSession: person,
  changePassword: person,
  listAccounts: superuser,
  createAccount: superuser,
  getAccount: superuser,
  updateAccount: superuser,
  resetAccountPassword: superuser,
})
