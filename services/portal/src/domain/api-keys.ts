import { isForeignKeyViolation } from '@atrium/kernel/db'
import { invalidInput } from '@atrium/kernel/errors'
import { newId } from '@atrium/kernel/ids'
import { apiKeyNotFound, missed, spaceNotFound } from '../errors.ts'
import { type ApiKeyRow, findApiKey, insertApiKey, revokeApiKeyById } from '../queries/api-keys.ts'
import type { Actor } from '../queries/stamps.ts'
import { subjectOf } from './access-changes.ts'
import type { PortalContext } from './context.ts'
import { createKey } from './key-ring.ts'

const DAY_MS = 86_400_000

/**
 * Makes a key. Its value is in the answer and nowhere else.
 * @throws AppError 400 for an expiry that is not in the future, 404 for a space that has just gone
 */
export async function createApiKey(
  ctx: PortalContext,
  spaceId: string,
  input: { name: string; expiryDate?: string | undefined },
  actor: Actor,
): Promise<{ row: ApiKeyRow; value: string }> {
  const expiresAt = expiryOf(input.expiryDate, ctx.env.ATRIUM_API_KEY_DAYS ?? 365)
  const { value, hash, lastFour } = createKey()
  const key = { spaceId, keyId: newId(), name: input.name, hash, lastFour, expiresAt }
  try {
    const row = await ctx.changes.commit([subjectOf.key(hash)], (trx) => insertApiKey(trx, key, actor))
    return { row, value }
  } catch (error) {
    throw isForeignKeyViolation(error) ? spaceNotFound(spaceId) : error
  }
}

function expiryOf(given: string | undefined, defaultDays: number): Date {
  if (given === undefined) return new Date(Date.now() + defaultDays * DAY_MS)
  const date = new Date(given)
  // A leap second is a valid time of day, but not for Date.
  if (Number.isNaN(date.getTime())) throw invalidInput('body.expiryDate', 'must be an ISO 8601 date and time')
  if (date.getTime() <= Date.now()) throw invalidInput('body.expiryDate', 'must lie in the future')
  return date
}

/** Revokes a key in every process; revoking it again changes nothing. @throws AppError 404, 412 */
export async function revokeApiKey(
  ctx: PortalContext,
  spaceId: string,
  keyId: string,
  actor: Actor,
  versions: readonly number[] | undefined,
): Promise<void> {
  const key = await findApiKey(ctx.db, spaceId, keyId)
  if (key === undefined) throw apiKeyNotFound(keyId)
  await ctx.changes.commit([subjectOf.key(key.key_hash.toString('hex'))], async (trx) => {
    if (await revokeApiKeyById(trx, spaceId, keyId, actor, versions)) return
    const now = await findApiKey(trx, spaceId, keyId)
    if (now?.status !== 'Revoked') throw missed(now !== undefined, apiKeyNotFound(keyId))
  })
}
