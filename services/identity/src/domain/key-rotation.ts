import { type Act, type AuditLog, systemAct } from '@atrium/access'
import type { MasterKey } from '@atrium/kernel/crypto'
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import {
  deleteRetiredSigningKeys,
  insertSigningKey,
  lockSigningKeys,
  newestSigningKeyAgeSeconds,
} from '../queries/signing-keys.ts'
import type { IdentityDatabase } from '../queries/tables.ts'

export const SIGNING_ALG = 'ES256'

/** No token of ours lives longer: so long does an old key stay published after its successor signs. */
export const LONGEST_TOKEN_SECONDS = 86_400

/** How long verifiers may keep our JWKS; a new key waits twice as long before it signs. */
export const JWKS_MAX_AGE_SECONDS = 60

const PUBLISH_AHEAD_SECONDS = 2 * JWKS_MAX_AGE_SECONDS
const OVERLAP_SECONDS = LONGEST_TOKEN_SECONDS + 300

export const sealPurpose = (kid: string): string => `identity/signing-key/${kid}`

/** What making keys needs. */
export interface KeyRotationDeps {
  readonly db: IdentityDatabase
  readonly masterKey: MasterKey
  readonly audit: AuditLog
}

async function addKey(
  trx: IdentityDatabase,
  { masterKey, audit }: KeyRotationDeps,
  act: Act,
  signsInSeconds: number,
) {
  const pair = await generateKeyPair(SIGNING_ALG, { extractable: true })
  const [publicJwk, privateJwk] = await Promise.all([exportJWK(pair.publicKey), exportJWK(pair.privateKey)])
  const kid = await calculateJwkThumbprint(publicJwk)
  const named = { kid, alg: SIGNING_ALG, use: 'sig' }
  const signsFrom = await insertSigningKey(
    trx,
    {
      kid,
      alg: SIGNING_ALG,
      publicJwk: { ...publicJwk, ...named },
      sealedPrivateJwk: masterKey.seal(sealPurpose(kid), JSON.stringify({ ...privateJwk, ...named })),
    },
    { signsInSeconds, overlapSeconds: OVERLAP_SECONDS },
  )
  const resource = { spaceId: null, resourceType: 'signingKey', resourceId: kid }
  await audit.record(trx, act, { ...resource, after: { kid, signsFrom } })
  return { kid, signsFrom }
}

/** Makes the first key. Processes that start at once on an empty database end with one. */
export async function ensureSigningKey(deps: KeyRotationDeps): Promise<void> {
  const { db } = deps
  if ((await newestSigningKeyAgeSeconds(db)) !== undefined) return
  await db.transaction().execute(async (trx) => {
    await lockSigningKeys(trx)
    if ((await newestSigningKeyAgeSeconds(trx)) === undefined)
      await addKey(trx, deps, systemAct('createSigningKey'), 0)
  })
}

/**
 * Publishes a new key now and lets it sign after `signsInSeconds` (120 by default, so that everybody who
 * keeps our JWKS has seen it; 0 after a leak). The old keys stay published until the last token that
 * they may have signed is over.
 */
export async function rotateSigningKeys(
  deps: KeyRotationDeps,
  act: Act,
  signsInSeconds: number = PUBLISH_AHEAD_SECONDS,
): Promise<{ kid: string; signsFrom: Date }> {
  return deps.db.transaction().execute(async (trx) => {
    await lockSigningKeys(trx)
    await deleteRetiredSigningKeys(trx)
    return addKey(trx, deps, act, signsInSeconds)
  })
}

/** Rotates when the newest key is `days` old. @returns whether it did */
export async function rotateWhenDue(deps: KeyRotationDeps, days: number): Promise<boolean> {
  return deps.db.transaction().execute(async (trx) => {
    await lockSigningKeys(trx)
    await deleteRetiredSigningKeys(trx)
    const age = await newestSigningKeyAgeSeconds(trx)
    if (age !== undefined && age < days * 86_400) return false
    await addKey(trx, deps, systemAct('rotateKeys'), age === undefined ? 0 : PUBLISH_AHEAD_SECONDS)
    return true
  })
}
