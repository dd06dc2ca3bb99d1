import { isUniqueViolation } from '@atrium/kernel/db'
import { newId } from '@atrium/kernel/ids'
import type { SuperuserChanges, SuperuserInput } from '../contract/superusers.ts'
import { missed, qNumberTaken, superuserExists, superuserNotFound } from '../errors.ts'
import { upsertSuperuserClient } from '../queries/clients.ts'
import {
  findSuperuser,
  type PersonRow,
  setSuperuser,
  updateSuperuserById,
  upsertPerson,
} from '../queries/people.ts'
import type { Actor } from '../queries/stamps.ts'
import { subjectOf } from './access-changes.ts'
import type { PortalContext } from './context.ts'

/** Makes a person superuser. @throws AppError 400 when they are one already */
export async function createSuperuser(
  ctx: Pick<PortalContext, 'changes'>,
  input: SuperuserInput,
  actor: Actor,
): Promise<PersonRow> {
  return ctx.changes.commit([subjectOf.user(input.qNumber)], async (trx) => {
    const person = await upsertPerson(trx, newId(), input)
    if (person.is_superuser) throw superuserExists(input.qNumber)
    return setSuperuser(trx, person.user_id, actor.qxId)
  })
}

/** @throws AppError 400 when the new Q number is another person's, 404, 412 */
export async function updateSuperuser(
  ctx: PortalContext,
  userId: string,
  changes: SuperuserChanges,
  actor: Actor,
  versions: readonly number[] | undefined,
): Promise<PersonRow> {
  const before = await findSuperuser(ctx.db, userId)
  if (before === undefined) throw superuserNotFound(userId)
  const subjects = [before.q_number, changes.qNumber ?? before.q_number].map(subjectOf.user)
  try {
    return await ctx.changes.commit(subjects, async (trx) => {
      const row = await updateSuperuserById(trx, userId, changes, actor.qxId, versions)
      if (row === undefined) throw missed(versions !== undefined, superuserNotFound(userId))
      return row
    })
  } catch (error) {
    if (isUniqueViolation(error, 'people_q_number_unique')) throw qNumberTaken(changes.qNumber ?? '')
    throw error
  }
}

const SYSTEM = 'system'

/** For the first start: makes the person superuser, whoever they were before. */
export async function ensureSuperuser(
  ctx: Pick<PortalContext, 'changes'>,
  person: { qNumber: string; name: string; mailAddress?: string | undefined },
): Promise<void> {
  const { qNumber, name, mailAddress = '' } = person
  await ctx.changes.commit([subjectOf.user(qNumber)], async (trx) => {
    const row = await upsertPerson(trx, newId(), { qNumber, name, mailAddress })
    if (!row.is_superuser) await setSuperuser(trx, row.user_id, SYSTEM)
  })
}

/** For the first start: a machine client with a superuser's rights. */
export async function ensureSuperuserClient(
  ctx: Pick<PortalContext, 'changes'>,
  client: { clientId: string; name: string },
): Promise<void> {
  await ctx.changes.commit([subjectOf.client(client.clientId)], (trx) => upsertSuperuserClient(trx, client))
}
