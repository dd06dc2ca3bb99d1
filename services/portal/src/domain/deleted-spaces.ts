import { type Act, systemAct } from '@atrium/access'
import { preconditionFailed } from '@atrium/kernel/errors'
import { isUuid } from '@atrium/kernel/ids'
import type { PortalContext } from '../context.ts'
import { deletedSpaceNotFound, spaceNotFound } from '../errors.ts'
import {
  closeSpaceById,
  deleteSpaceRows,
  listDeletedSpaceRows,
  lockDeletedSpace,
  markSpaceRemoved,
  reopenSpaceById,
  selectSpacesToRemove,
} from '../queries/deleted-spaces.ts'
import { lockSpace, type SpaceRow } from '../queries/spaces.ts'
import type { PortalDb } from '../queries/tables.ts'
import { subjectOf } from './access-changes.ts'
import { recordAudit } from './audit.ts'

const resource = (spaceId: string) => ({ spaceId, resourceType: 'space', resourceId: spaceId })

type Versions = readonly number[] | undefined

/**
 * Closes a space in every process: from now on it is one that does not exist. Its data stays for the grace period.
 * @throws AppError 404, 412
 */
export async function deleteSpace(
  ctx: PortalContext,
  spaceId: string,
  act: Act,
  versions: Versions,
): Promise<void> {
  await ctx.changes.commit([subjectOf.space(spaceId.toLowerCase())], async (trx) => {
    const before = await lockSpace(trx, spaceId)
    if (before === undefined) throw spaceNotFound(spaceId)
    if (versions !== undefined && !versions.includes(before.version)) throw preconditionFailed()
    const after = await closeSpaceById(trx, spaceId, ctx.env.ATRIUM_SPACE_GRACE_DAYS, act)
    await recordAudit(trx, act, { ...resource(spaceId), before, after })
  })
}

/** Opens a deleted space again, with all that it had. @throws AppError 404 also when the grace period is over, 412 */
export async function restoreSpace(
  ctx: PortalContext,
  spaceId: string,
  act: Act,
  versions: Versions,
): Promise<SpaceRow> {
  if (!isUuid(spaceId)) throw deletedSpaceNotFound(spaceId)
  return ctx.changes.commit([subjectOf.space(spaceId.toLowerCase())], async (trx) => {
    const before = await lockDeletedSpace(trx, spaceId)
    if (before === undefined) throw deletedSpaceNotFound(spaceId)
    if (versions !== undefined && !versions.includes(before.version)) throw preconditionFailed()
    const after = await reopenSpaceById(trx, spaceId, act)
    await recordAudit(trx, act, { ...resource(spaceId), before, after })
    return after
  })
}

/** Removes the portal's data of spaces whose grace is over. What a crash breaks off, the next run goes on with. */
export async function removeDeletedSpaces(db: PortalDb, signal: AbortSignal): Promise<void> {
  for (const spaceId of await selectSpacesToRemove(db)) {
    if (signal.aborted) return
    await deleteSpaceRows(db, spaceId)
    await db.transaction().execute(async (trx) => {
      const after = await markSpaceRemoved(trx, spaceId)
      if (after !== undefined)
        await recordAudit(trx, systemAct('removeSpace'), { ...resource(spaceId), after })
    })
  }
}

/** The spaces that can still be brought back. */
export const listDeletedSpaces = (ctx: PortalContext, query: Parameters<typeof listDeletedSpaceRows>[1]) =>
  listDeletedSpaceRows(ctx.db, query)
