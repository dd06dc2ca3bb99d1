import { isUuid } from '@atrium/kernel/ids'
import type { PortalContext } from '../context.ts'
import { spaceNotFound, userNotFound } from '../errors.ts'
import { findPersonByQNumber } from '../queries/people.ts'
import { selectSpacePermissions } from '../queries/permissions.ts'
import type { Role } from '../queries/tables.ts'

/** @throws AppError 404 for a space or a person that is not known */
export async function permissionsInSpace(
  ctx: PortalContext,
  spaceId: string,
  qNumber: string,
): Promise<{ role: Role | null; isSuperuser: boolean }> {
  const row = isUuid(spaceId) ? await selectSpacePermissions(ctx.pool, spaceId, qNumber) : undefined
  if (row === undefined) throw spaceNotFound(spaceId)
  if (row.is_superuser === null) throw userNotFound(qNumber)
  return { role: row.role, isSuperuser: row.is_superuser }
}

/** @throws AppError 404 for a person that is not known */
export async function isSuperuserPerson(ctx: PortalContext, qNumber: string): Promise<boolean> {
  const person = await findPersonByQNumber(ctx.db, qNumber)
  if (person === undefined) throw userNotFound(qNumber)
  return person.is_superuser
}
