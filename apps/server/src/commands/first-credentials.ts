import type { FirstCredentials, FirstSuperuser } from '../bootstrap.ts'
import type { Config } from '../config.ts'

const secretLine = (name: string, superuser: FirstSuperuser, variable: string): string =>
  `  ${name}${superuser.secret ?? (superuser.issuer === undefined ? `(as ${variable} says)` : `(from ${superuser.issuer})`)}`

/** All callers come from external issuers, and none is named. */
const NOBODY = [
  'There is no superuser yet: set ATRIUM_BOOTSTRAP_USER to the qxId of one of your people, or',
  'ATRIUM_BOOTSTRAP_CLIENT_ID to one of your clients, and start again.',
  '',
]

/** What `atrium up` says of the superusers that this start made, or that nobody could be made. */
export function firstCredentialLines(first: FirstCredentials | undefined, config: Config): string[] {
  if (first === undefined) return []
  const { user, client } = first
  const issuer = config.identity.ATRIUM_USER_ISSUER
  if (user === undefined && client === undefined) return NOBODY
  const lines = ['First credentials, shown this once only:', '']
  if (user !== undefined) {
    lines.push(`  user           ${user.id}`)
    lines.push(secretLine('password       ', user, 'ATRIUM_BOOTSTRAP_PASSWORD'))
  }
  if (client !== undefined) {
    lines.push(`  client id      ${client.id}`)
    lines.push(secretLine('client secret  ', client, 'ATRIUM_BOOTSTRAP_CLIENT_SECRET'))
  }
  lines.push('')
  if (user === undefined) {
    lines.push(
      `People sign in at ${issuer}: nobody of them is superuser yet. Let this client make one (POST /portal/v1/admin/superuser).`,
      '',
    )
  }
  return lines
}
