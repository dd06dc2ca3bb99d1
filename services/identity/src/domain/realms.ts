/** The two embedded issuers. Their paths are those of the access-management product that clients know. */
export const MACHINE_PATH = '/oauth2/realms/root/realms/machine2machine'
export const PEOPLE_PATH = '/oauth2/realms/root/realms/people'

/** Paths below the machine realm. */
export const MACHINE_ROUTES = {
  token: '/access_token',
  introspection: '/introspect',
  revocation: '/token/revoke',
  jwks: '/connect/jwk_uri',
} as const

/** Paths below the people's realm. */
export const PEOPLE_ROUTES = {
  authorization: '/authorize',
  token: '/access_token',
  revocation: '/token/revoke',
  jwks: '/connect/jwk_uri',
  end_session: '/connect/endSession',
} as const

/** Pages and endpoints of the people's realm that are ours, not the OAuth library's. */
export const PEOPLE_PAGES = {
  signIn: '/sign-in',
  password: '/password',
  choosePassword: '/choose-password',
  invitation: '/invitation',
  userInfo: '/userinfo',
} as const

/** The one scope of machine tokens. */
export const MACHINE_SCOPE = 'machine2machine'

export interface Realms {
  readonly machineIssuer: string
  readonly peopleIssuer: string
  /** Audience of every embedded token: the platform itself. */
  readonly audience: string
}

/** @param publicUrl origin of the platform, without a slash at its end */
export const realmsOf = (publicUrl: string): Realms => ({
  machineIssuer: `${publicUrl}/auth${MACHINE_PATH}`,
  peopleIssuer: `${publicUrl}/auth${PEOPLE_PATH}`,
  audience: publicUrl,
})
