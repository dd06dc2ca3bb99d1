import { isForeignKeyViolation, isUniqueViolation } from '@atrium/kernel/db'
import { isUuid } from '@atrium/kernel/ids'
import type { PortalContext } from '../context.ts'
import type { SpaceUserInput } from '../contract/space-users.ts'
import { alreadyInSpace, membershipNotFound, missed, spaceNotFound } from '../errors.ts'
import {
  deleteMembership,
  findMember,
  insertMembership,
  listMembers,
  lockMembership,
  type MemberRow,
  updateRole,
} from '../queries/memberships.ts'
import type { PersonFields } from '../queries/people.ts'
import type { PortalTransaction, Role } from '../queries/tables.ts'
import { subjectOf } from './access-changes.ts'
import { type Act, recordAudit } from './audit.ts'
import { bringPersonUpToDate } from './people.ts'

/**
 * Adds a person to a space; the person's record is made, or brought up to date, on the way.
 * @throws AppError 400 when they are in it already, 404 for a space that has just gone
 */
export async function addMember(
  ctx: PortalContext,
  spaceId: string,
  input: SpaceUserInput,
  act: Act,
): Promise<MemberRow> {
  try {
    return await ctx.changes.commit([subjectOf.user(input.qNumber)], (trx) =>
      joinSpace(trx, spaceId, input, act),
    )
  } catch (error) {
    if (isUniqueViolation(error, 'memberships_pkey')) throw alreadyInSpace(input.qNumber)
    throw isForeignKeyViolation(error) ? spaceNotFound(spaceId) : error
  }
}

/**
 * Makes the person a member inside the caller's transaction, which must announce them.
 * @throws the unique violation of `memberships_pkey`, or the foreign-key violation of the space
 */
export async function joinSpace(
  trx: PortalTransaction,
  spaceId: string,
  input: PersonFields & { readonly role: Role },
  act: Act,
): Promise<MemberRow> {
  const person = await bringPersonUpToDate(trx, input, act)
  const added = await insertMembership(trx, spaceId, person.user_id, input.role)
  const { user_id, q_number, name, department, mail_address } = person
  const after: MemberRow = {
    user_id,
    q_number,
    name,
    department,
    mail_address,
    ...added,
    role: input.role,
    modified_at: added.created_at,
  }
  await recordAudit(trx, act, { ...resource(spaceId, user_id), after })
  return after
}

const resource = (spaceId: string, userId: string) => ({
  spaceId,
  resourceType: 'member',
  resourceId: userId,
})

/** @throws AppError 404, 412 */
export async function changeRole(
  ctx: PortalContext,
  spaceId: string,
  userId: string,
  role: Role,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<MemberRow> {
  const { q_number: qNumber } = await memberOf(ctx, spaceId, userId)
  return ctx.changes.commit([subjectOf.user(qNumber)], async (trx) => {
    await lockMembership(trx, spaceId, userId)
    const before = await findMember(trx, spaceId, userId)
    const isChanged = await updateRole(trx, spaceId, userId, role, versions)
    const after = await findMember(trx, spaceId, userId)
    if (!isChanged || after === undefined) throw missed(after !== undefined, membershipNotFound(userId))
    await recordAudit(trx, act, { ...resource(spaceId, userId), before, after })
    return after
  })
}

/** @throws AppError 404, 412 */
export async function removeMember(
  ctx: PortalContext,
  spaceId: string,
  userId: string,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<void> {
  const { q_number: qNumber } = await memberOf(ctx, spaceId, userId)
  await ctx.changes.commit([subjectOf.user(qNumber)], async (trx) => {
    await lockMembership(trx, spaceId, userId)
    const before = await findMember(trx, spaceId, userId)
    const isDeleted = await deleteMembership(trx, spaceId, userId, versions)
    if (!isDeleted) throw missed(before !== undefined, membershipNotFound(userId))
    await recordAudit(trx, act, { ...resource(spaceId, userId), before })
  })
}

async function memberOf(ctx: PortalContext, spaceId: string, userId: string): Promise<MemberRow> {
  const member = isUuid(userId) ? await findMember(ctx.db, spaceId, userId) : undefined
  if (member === undefined) throw membershipNotFound(userId)
  return member
}

/** The members of a space. */
export const listSpaceMembers = (
  ctx: PortalContext,
  spaceId: string,
  query: Parameters<typeof listMembers>[2],
) => listMembers(ctx.db, spaceId, query)
