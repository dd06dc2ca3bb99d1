import { invalidInput } from '@atrium/kernel/errors'
import { newId } from '@atrium/kernel/ids'
import { SignJWT } from 'jose'
import { checkQxId } from './accounts.ts'
import { LONGEST_TOKEN_SECONDS, SIGNING_ALG } from './key-rotation.ts'
import type { Realms } from './realms.ts'
import type { SigningKeys } from './signing-keys.ts'

export interface UserTokenRequest {
  readonly qxId: string
  /** Shown as the author of what the person makes; the qxId when absent. */
  readonly name?: string
  /** 1 to 86400, 3600 when absent. */
  readonly lifetimeSeconds?: number
}

/** Signs a token of the embedded people's issuer. @throws AppError 400 for a bad id or lifetime */
export async function signUserToken(
  signingKeys: SigningKeys,
  realms: Realms,
  user: UserTokenRequest,
): Promise<string> {
  const lifetime = user.lifetimeSeconds ?? 3600
  checkQxId(user.qxId)
  if (!Number.isInteger(lifetime) || lifetime < 1 || lifetime > LONGEST_TOKEN_SECONDS) {
    throw invalidInput('lifetimeSeconds', `must be a whole number from 1 to ${LONGEST_TOKEN_SECONDS}`)
  }
  const key = signingKeys.current()
  const now = Math.floor(Date.now() / 1000)
  return new SignJWT({ qxId: user.qxId, name: user.name ?? user.qxId, token_use: 'user' })
    .setProtectedHeader({ alg: SIGNING_ALG, typ: 'at+jwt', kid: key.kid })
    .setIssuer(realms.peopleIssuer)
    .setAudience(realms.audience)
    .setSubject(user.qxId)
    .setJti(newId())
    .setIssuedAt(now)
    .setExpirationTime(now + lifetime)
    .sign(key.privateKey)
}
