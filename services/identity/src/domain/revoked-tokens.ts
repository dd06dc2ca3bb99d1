import type { Act, AuditLog } from '@atrium/access'
import { FreshCache, type Outage } from '@atrium/kernel/cache'
import { announceClient, expectRevocations } from '../queries/clients.ts'
import { insertRevokedToken, isRevokedToken } from '../queries/revoked-tokens.ts'
import type { IdentityDatabase } from '../queries/tables.ts'

/** Machine tokens that their client gave up before they expire. */
export interface RevokedTokens {
  /** Holds in every process within a second. @param expiresAt seconds of the epoch */
  revoke(token: { jti: string; clientId: string; expiresAt: number }, act: Act): Promise<void>
  has(jti: string): Promise<boolean>
  /** The answer of `has` where it is at hand. */
  peek(jti: string): boolean | undefined
  /** It was revoked. */
  refresh(jti: string): void
  /** Changes may have been missed. */
  outdate(): void
}

const CAPACITY = 20_000

export function createRevokedTokens(db: IdentityDatabase, outage: Outage, audit: AuditLog): RevokedTokens {
  const cache = new FreshCache({ read: (jti) => isRevokedToken(db, jti), outage, maxEntries: CAPACITY })
  return {
    async revoke({ jti, clientId, expiresAt }, act) {
      const until = new Date(expiresAt * 1000)
      await db.transaction().execute(async (trx) => {
        await insertRevokedToken(trx, jti, until)
        // A minute more, for verifiers allow for clocks that differ.
        await expectRevocations(trx, clientId, new Date(until.getTime() + 60_000))
        await announceClient(trx, clientId)
        const resource = { spaceId: null, resourceType: 'token', resourceId: jti }
        await audit.record(trx, act, { ...resource, before: { clientId, expiresAt: until } })
      })
      cache.refresh(jti)
    },
    has: (jti) => cache.find(jti),
    peek: (jti) => cache.peek(jti),
    refresh: (jti) => cache.refresh(jti),
    outdate: () => cache.outdate(),
  }
}
