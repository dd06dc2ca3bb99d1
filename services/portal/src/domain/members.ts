import { isForeignKeyViolation, isUniqueViolation } from '@atrium/kernel/db'
import { isUuid, newId } from '@atrium/kernel/ids'
import type { SpaceUserInput } from '../contract/space-users.ts'
import { alreadyInSpace, membershipNotFound, missed, spaceNotFound } from '../errors.ts'
import {
  deleteMembership,
  findMember,
  insertMembership,
  type MemberRow,
  updateRole,
} from '../queries/memberships.ts'
import { upsertPerson } from '../queries/people.ts'
import type { Role } from '../queries/tables.ts'
import { subjectOf } from './access-changes.ts'
import type { PortalContext } from './context.ts'

/**
 * Adds a person to a space; the person's record is made, or brought up to date, on the way.
 * @throws AppError 400 when they are in it already, 404 for a space that has just gone
 */
export async function addMember(
  ctx: PortalContext,
  spaceId: string,
  input: SpaceUserInput,
): Promise<MemberRow> {
  try {
    return await ctx.changes.commit([subjectOf.user(input.qNumber)], async (trx) => {
      const person = await upsertPerson(trx, newId(), input)
      const added = await insertMembership(trx, spaceId, person.user_id, input.role)
      return { ...person, ...added, role: input.role, modified_at: added.created_at }
    })
  } catch (error) {
    if (isUniqueViolation(error, 'memberships_pkey')) throw alreadyInSpace(input.qNumber)
    throw isForeignKeyViolation(error) ? spaceNotFound(spaceId) : error
  }
}

/** @throws AppError 404, 412 */
export async function changeRole(
  ctx: PortalContext,
  spaceId: string,
  userId: string,
  role: Role,
  versions: readonly number[] | undefined,
): Promise<MemberRow> {
  const member = await memberOf(ctx, spaceId, userId)
  return ctx.changes.commit([subjectOf.user(member.q_number)], async (trx) => {
    const isChanged = await updateRole(trx, spaceId, userId, role, versions)
    const now = await findMember(trx, spaceId, userId)
    if (!isChanged || now === undefined) throw missed(now !== undefined, membershipNotFound(userId))
    return now
  })
}

/** @throws AppError 404, 412 */
export async function removeMember(
  ctx: PortalContext,
  spaceId: string,
  userId: string,
  versions: readonly number[] | undefined,
): Promise<void> {
  const member = await memberOf(ctx, spaceId, userId)
  await ctx.changes.commit([subjectOf.user(member.q_number)], async (trx) => {
    if (await deleteMembership(trx, spaceId, userId, versions)) return
    throw missed((await findMember(trx, spaceId, userId)) !== undefined, membershipNotFound(userId))
  })
}

async function memberOf(ctx: PortalContext, spaceId: string, userId: string): Promise<MemberRow> {
  const member = isUuid(userId) ? await findMember(ctx.db, spaceId, userId) : undefined
  if (member === undefined) throw membershipNotFound(userId)
  return member
}
