import type { Principal } from '@atrium/access'
import { newId } from '@atrium/kernel/ids'
import type { PortalContext } from '../context.ts'
import type { SpaceChanges, SpaceInput } from '../contract/spaces.ts'
import { missed, spaceNotFound } from '../errors.ts'
import {
  insertSpace,
  lockSpace,
  readSpaces,
  type SpaceDetailRow,
  type SpaceRow,
  selectSpaceDetail,
  updateSpaceById,
} from '../queries/spaces.ts'
import { type Act, recordAudit } from './audit.ts'

/** Makes a space. Whoever makes it does not become a member by that. */
export async function createSpace(ctx: PortalContext, input: SpaceInput, act: Act): Promise<SpaceRow> {
  return ctx.db.transaction().execute(async (trx) => {
    const row = await insertSpace(trx, newId(), input, act)
    await recordAudit(trx, act, {
      spaceId: row.space_id,
      resourceType: 'space',
      resourceId: row.space_id,
      after: row,
    })
    return row
  })
}

/** All spaces for a superuser, else those where the caller has a role. */
export async function listSpaces(
  ctx: PortalContext,
  caller: Principal,
  query: { limit?: number; page?: number },
): Promise<AsyncGenerator<SpaceRow[]>> {
  const scope = (await ctx.access.directory.isSuperuser(caller)) ? 'all' : caller
  return readSpaces(ctx.db, scope, query)
}

/** @throws AppError 404 */
export async function getSpace(
  ctx: PortalContext,
  spaceId: string,
  caller: Principal,
): Promise<SpaceDetailRow> {
  const row = await selectSpaceDetail(ctx.pool, spaceId, caller)
  if (row === undefined) throw spaceNotFound(spaceId)
  return row
}

/** @throws AppError 404, 412 */
export async function updateSpace(
  ctx: PortalContext,
  spaceId: string,
  changes: SpaceChanges,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<SpaceRow> {
  return ctx.db.transaction().execute(async (trx) => {
    const before = await lockSpace(trx, spaceId)
    const after = await updateSpaceById(trx, spaceId, changes, act, versions)
    if (after === undefined) throw missed(before !== undefined, spaceNotFound(spaceId))
    await recordAudit(trx, act, { spaceId, resourceType: 'space', resourceId: spaceId, before, after })
    return after
  })
}
