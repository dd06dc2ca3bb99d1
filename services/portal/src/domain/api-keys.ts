import type { Principal } from '@atrium/access'
import { isForeignKeyViolation } from '@atrium/kernel/db'
import { invalidInput, preconditionFailed } from '@atrium/kernel/errors'
import { newId } from '@atrium/kernel/ids'
import type { PortalContext } from '../context.ts'
import type { ApiKeyChanges } from '../contract/api-keys.ts'
import { apiKeyNotFound, keyNotUsable, missed, onlySuperusersRaise, spaceNotFound } from '../errors.ts'
import {
  type ApiKeyRow,
  findApiKey,
  insertApiKey,
  type ApiKeyChanges as KeyFields,
  listApiKeyRows,
  lockApiKey,
  replaceKeyValue,
  revokeApiKeyById,
  selectKeyHashes,
  updateApiKeyById,
} from '../queries/api-keys.ts'
import type { PortalTransaction } from '../queries/tables.ts'
import { subjectOf } from './access-changes.ts'
import { createKey } from './api-key-directory.ts'
import { type Act, recordAudit } from './audit.ts'
import { parseBudget } from './money.ts'

const DAY_MS = 86_400_000

/**
 * Makes a key. Its value is in the answer and nowhere else.
 * @throws AppError 400 for an expiry that is not in the future, 404 for a space that has just gone
 */
export async function createApiKey(
  ctx: PortalContext,
  spaceId: string,
  input: { name: string; expiryDate?: string | undefined },
  act: Act,
): Promise<{ row: ApiKeyRow; value: string }> {
  const defaultDays = ctx.env.ATRIUM_API_KEY_DAYS
  const expiresAt = expiryOf(input.expiryDate) ?? new Date(Date.now() + defaultDays * DAY_MS)
  const { value, hash, lastFour } = createKey()
  const key = { spaceId, keyId: newId(), name: input.name, hash, lastFour, expiresAt }
  try {
    const row = await ctx.changes.commit([subjectOf.key(hash)], async (trx) => {
      const after = await insertApiKey(trx, key, act)
      await recordAudit(trx, act, { ...resource(spaceId, key.keyId), after })
      return after
    })
    return { row, value }
  } catch (error) {
    throw isForeignKeyViolation(error) ? spaceNotFound(spaceId) : error
  }
}

/** An Active key that has expired is over like a Revoked one; the list's filter and counts say the same in SQL. */
export const statusOf = (row: ApiKeyRow): 'Active' | 'Revoked' =>
  row.expires_at.getTime() <= Date.now() ? 'Revoked' : row.status

const resource = (spaceId: string, keyId: string) => ({
  spaceId,
  resourceType: 'api-key',
  resourceId: keyId,
})

function expiryOf(given: string | undefined): Date | undefined {
  if (given === undefined) return undefined
  const date = new Date(given)
  // Years of five digits are no date and time of the contract's; an offset leads there from 9999.
  if (date.getUTCFullYear() > 9999) throw invalidInput('body.expiryDate', 'must lie before the year 10000')
  if (date.getTime() <= Date.now()) throw invalidInput('body.expiryDate', 'must lie in the future')
  return date
}

/** Changes a key under lock; every process forgets what it knew by any of the key's values. @throws AppError 404 */
async function changeKey<T>(
  ctx: PortalContext,
  spaceId: string,
  keyId: string,
  change: (trx: PortalTransaction, before: ApiKeyRow) => Promise<T>,
): Promise<T> {
  const hashes = await selectKeyHashes(ctx.db, spaceId, keyId)
  if (hashes.length === 0) throw apiKeyNotFound(keyId)
  return ctx.changes.commit(hashes.map(subjectOf.key), async (trx) => {
    const before = await lockApiKey(trx, spaceId, keyId)
    if (before === undefined) throw apiKeyNotFound(keyId)
    return change(trx, before)
  })
}

function demandVersion(row: ApiKeyRow, versions: readonly number[] | undefined): void {
  if (versions !== undefined && !versions.includes(row.version)) throw preconditionFailed()
}

/**
 * Changes a key's name, expiry and limits.
 * @throws AppError 400, 403 when somebody who is no superuser raises its end or a limit, 404, 409 for a revoked key, 412
 */
export async function updateApiKey(
  ctx: PortalContext,
  spaceId: string,
  keyId: string,
  changes: ApiKeyChanges,
  caller: Principal,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<ApiKeyRow> {
  const { name, requestsPerMinute, monthlyBudget: budget } = changes
  const expiresAt = expiryOf(changes.expiryDate)
  const monthlyBudget = typeof budget === 'number' ? parseBudget('body.monthlyBudget', budget) : budget
  const isSuperuser = await ctx.access.directory.isSuperuser(caller)
  return changeKey(ctx, spaceId, keyId, async (trx, before) => {
    demandVersion(before, versions)
    if (before.status === 'Revoked') throw keyNotUsable('revoked')
    const fields = { name, expiresAt, requestsPerMinute, monthlyBudget }
    if (!isSuperuser) demandNothingRaised(before, fields)
    const after = await updateApiKeyById(trx, spaceId, keyId, fields, act)
    await recordAudit(trx, act, { ...resource(spaceId, keyId), before, after })
    return after
  })
}

/** Without a limit there is no end; 15 digits at most, which doubles tell apart. */
const limitOf = (value: number | string | null): number =>
  value === null ? Number.POSITIVE_INFINITY : Number(value)

const isRaised = (from: number | string | null, to: number | string | null | undefined): boolean =>
  to !== undefined && limitOf(to) > limitOf(from)

/** An owner may only bring a key's end and limits down. @throws AppError 403 that names what would go up */
function demandNothingRaised(before: ApiKeyRow, after: KeyFields): void {
  const { expiresAt, requestsPerMinute: rate, monthlyBudget } = after
  if (expiresAt !== undefined && expiresAt > before.expires_at) throw onlySuperusersRaise('expiryDate')
  // A key without a rate of its own has the operator's, and nobody here knows whether the new one is lower.
  if (rate !== before.requests_per_minute && isRaised(before.requests_per_minute ?? 0, rate)) {
    throw onlySuperusersRaise('requestsPerMinute')
  }
  if (isRaised(before.monthly_budget, monthlyBudget)) throw onlySuperusersRaise('monthlyBudget')
}

/**
 * Gives a key a new value; the old one works for `overlapSeconds` more. Both are the same key: its costs go on.
 * @throws AppError 404, 409 for a revoked or expired key, 412
 */
export async function rotateApiKey(
  ctx: PortalContext,
  spaceId: string,
  keyId: string,
  overlapSeconds: number,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<{ row: ApiKeyRow; value: string; formerValidUntil: Date }> {
  const { value, hash, lastFour } = createKey()
  return changeKey(ctx, spaceId, keyId, async (trx, before) => {
    demandVersion(before, versions)
    if (before.status === 'Revoked') throw keyNotUsable('revoked')
    if (before.expires_at.getTime() <= Date.now()) throw keyNotUsable('expired')
    const end = Math.min(Date.now() + overlapSeconds * 1000, before.expires_at.getTime())
    const formerValidUntil = new Date(end)
    const row = await replaceKeyValue(trx, before, { hash, lastFour }, formerValidUntil, act)
    const after = { ...row, formerValidUntil }
    await recordAudit(trx, act, { ...resource(spaceId, keyId), before, after })
    return { row, value, formerValidUntil }
  })
}

/** Revokes a key, with its former values, in every process; revoking it again changes nothing. @throws AppError 404, 412 */
export async function revokeApiKey(
  ctx: PortalContext,
  spaceId: string,
  keyId: string,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<void> {
  await changeKey(ctx, spaceId, keyId, async (trx, before) => {
    const after = await revokeApiKeyById(trx, spaceId, keyId, act, versions)
    if (after !== undefined) {
      await recordAudit(trx, act, { ...resource(spaceId, keyId), before, after })
      return
    }
    const now = await findApiKey(trx, spaceId, keyId)
    if (now?.status !== 'Revoked') throw missed(now !== undefined, apiKeyNotFound(keyId))
  })
}

/** The keys of a space. */
export const listApiKeys = (
  ctx: PortalContext,
  spaceId: string,
  query: Parameters<typeof listApiKeyRows>[2],
) => listApiKeyRows(ctx.db, spaceId, query)
