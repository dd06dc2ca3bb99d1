import { hash } from 'node:crypto'
import type { AuditLog } from '@atrium/access'
import Provider, { type Adapter, type AdapterPayload, errors } from 'oidc-provider'
import {
  consumeOidcRecord,
  deleteGrant,
  deleteOidcRecord,
  findOidcRecord,
  upsertOidcRecord,
} from '../queries/oidc-records.ts'
import type { IdentityDatabase } from '../queries/tables.ts'
import { actOn } from './request-origin.ts'

/** Their ids are what a caller presents, so only hashes of them are stored. */
const SECRET_IDS = new Set(['RefreshToken', 'AuthorizationCode', 'AccessToken'])

/** PostgreSQL stores no U+0000; nothing of ours has one. */
const isStorable = (text: string): boolean => text !== '' && text.length <= 512 && !text.includes('\0')

/** Ends a grant with all that was issued on it, by whoever sent the request that the library is at. */
export async function endGrant(db: IdentityDatabase, audit: AuditLog, grantId: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const qxId = await deleteGrant(trx, grantId)
    if (qxId === undefined) return
    const act = actOn(Provider.ctx?.req, { kind: 'user', qxId, name: qxId })
    await audit.record(trx, act, {
      spaceId: null,
      resourceType: 'grant',
      resourceId: grantId,
      before: { qxId },
    })
  })
}

/** The OAuth library's storage on Postgres. */
export function createOidcStore(db: IdentityDatabase, audit: AuditLog): (model: string) => Adapter {
  return (model) => {
    const isSecret = SECRET_IDS.has(model)
    const stored = (id: string): string => (isSecret ? hash('sha256', id, 'base64url') : id)

    async function find(column: 'id' | 'uid' | 'user_code', value: string) {
      if (!isStorable(value)) return undefined
      const payload = await findOidcRecord(db, model, {
        column,
        value: column === 'id' ? stored(value) : value,
      })
      if (payload === undefined) return undefined
      return (column === 'id' && isSecret ? { ...payload, jti: value } : payload) as AdapterPayload
    }

    return {
      find: (id) => find('id', id),
      findByUid: (uid) => find('uid', uid),
      findByUserCode: (userCode) => find('user_code', userCode),
      async upsert(id, payload, expiresIn) {
        const { jti: _secret, ...rest } = payload
        await upsertOidcRecord(db, {
          model,
          id: stored(id),
          payload: isSecret ? rest : payload,
          uid: payload.uid,
          userCode: payload.userCode,
          // The library keeps a grant's own id as its jti, and an interaction's as a mere reference.
          grantId: model === 'Interaction' ? undefined : payload.grantId,
          accountId: payload.accountId,
          sessionId: typeof payload.sessionUid === 'string' ? payload.sessionUid : undefined,
          expiresIn,
        })
      },
      async consume(id) {
        if (await consumeOidcRecord(db, model, stored(id), Math.floor(Date.now() / 1000))) return
        // Of two that present the same secret at once, one is a thief: neither goes on.
        const payload = await find('id', id)
        if (payload?.grantId !== undefined) await endGrant(db, audit, payload.grantId)
        throw new errors.InvalidGrant('already used')
      },
      destroy: (id) => deleteOidcRecord(db, model, stored(id)),
      revokeByGrantId: (grantId) => endGrant(db, audit, grantId),
    }
  }
}
