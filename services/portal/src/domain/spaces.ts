import type { Principal } from '@atrium/access'
import { newId } from '@atrium/kernel/ids'
import type { SpaceChanges, SpaceInput } from '../contract/spaces.ts'
import { missed, spaceNotFound } from '../errors.ts'
import { inBatches } from '../queries/listing.ts'
import {
  insertSpace,
  type SpaceDetailRow,
  type SpaceRow,
  selectSpaceDetail,
  selectSpaces,
  updateSpaceById,
} from '../queries/spaces.ts'
import type { Actor } from '../queries/stamps.ts'
import type { PortalContext } from './context.ts'

/** Makes a space. Whoever makes it does not become a member by that. */
export async function createSpace(ctx: PortalContext, input: SpaceInput, actor: Actor): Promise<SpaceRow> {
  return insertSpace(ctx.db, newId(), input, actor)
}

/** All spaces for a superuser, else those where the caller has a role. */
export async function listSpaces(
  ctx: PortalContext,
  caller: Principal,
  query: { limit?: number; page?: number },
): Promise<AsyncGenerator<SpaceRow[]>> {
  const scope = (await ctx.access.directory.isSuperuser(caller)) ? 'all' : caller
  return inBatches(
    query,
    (batch) => selectSpaces(ctx.db, scope, batch),
    (row) => row.space_id,
  )
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
  actor: Actor,
  versions: readonly number[] | undefined,
): Promise<SpaceRow> {
  const row = await updateSpaceById(ctx.db, spaceId, changes, actor, versions)
  // The guard has seen the space, so only its version can be another.
  if (row === undefined) throw missed(versions !== undefined, spaceNotFound(spaceId))
  return row
}
