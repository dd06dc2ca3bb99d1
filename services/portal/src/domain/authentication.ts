import type { GuardDeps, Principal } from '@atrium/access'
import { keyExpired, keyRevoked, keyUnknown } from '../errors.ts'
import type { ApiKeyDirectory } from './api-key-directory.ts'

type VerifyToken = (token: string) => Promise<Exclude<Principal, { kind: 'key' }>>

/** Three parts with dots between make a JWT; everything else can only be an API key. */
const isToken = (credential: string): boolean => credential.split('.', 4).length === 3

/** Who a bearer credential stands for. @throws AppError 401 */
export const createAuthenticate =
  (verifyToken: VerifyToken, keys: ApiKeyDirectory): GuardDeps['authenticate'] =>
  async (credential) => {
    if (isToken(credential)) return verifyToken(credential)
    const lookup = await keys.find(credential)
    switch (lookup.status) {
      case 'valid':
        return lookup.principal
      case 'revoked':
        throw keyRevoked()
      case 'expired':
        throw keyExpired()
      default:
        throw keyUnknown()
    }
  }
