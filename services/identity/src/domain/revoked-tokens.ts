import { announceClient, expectRevocations } from '../queries/clients.ts'
import { insertRevokedToken, isRevokedToken } from '../queries/revoked-tokens.ts'
import type { IdentityDatabase } from '../queries/tables.ts'
import { createFreshCache } from './fresh-cache.ts'

/** Machine tokens that their client gave up before they expire. */
export interface RevokedTokens {
  /** Holds in every process within a second. @param expiresAt seconds of the epoch */
  revoke(token: { jti: string; clientId: string; expiresAt: number }): Promise<void>
  has(jti: string): Promise<boolean>
  /** The answer of `has` where it is at hand. */
  peek(jti: string): boolean | undefined
  forget(jti: string): void
  forgetAll(): void
}

const CAPACITY = 20_000

export function createRevokedTokens(db: IdentityDatabase): RevokedTokens {
  const cache = createFreshCache(async (jti) => ({ isRevoked: await isRevokedToken(db, jti) }), CAPACITY)
  return {
    async revoke({ jti, clientId, expiresAt }) {
      const until = new Date(expiresAt * 1000)
      await db.transaction().execute(async (trx) => {
        await insertRevokedToken(trx, jti, until)
        // A minute more, for verifiers allow for clocks that differ.
        await expectRevocations(trx, clientId, new Date(until.getTime() + 60_000))
        await announceClient(trx, clientId)
      })
      cache.forget(jti)
    },
    has: async (jti) => (await cache.find(jti)).isRevoked,
    peek: (jti) => cache.peek(jti)?.isRevoked,
    forget: cache.forget,
    forgetAll: cache.forgetAll,
  }
}
