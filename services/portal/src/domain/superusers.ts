import { claimPersonId } from '@atrium/identity'
import { isUniqueViolation } from '@atrium/kernel/db'
import { preconditionFailed } from '@atrium/kernel/errors'
import type { PortalContext } from '../context.ts'
import type { SuperuserChanges, SuperuserInput } from '../contract/superusers.ts'
import { lastSuperuser, missed, qNumberTaken, superuserExists, superuserNotFound } from '../errors.ts'
import { upsertSuperuserClient } from '../queries/clients.ts'
import {
  findSuperuser,
  listSuperusers,
  lockSuperuser,
  lockSuperusers,
  type PersonRow,
  setSuperuser,
  unsetSuperuser,
  updateSuperuserById,
} from '../queries/people.ts'
import type { PortalTransaction } from '../queries/tables.ts'
import { subjectOf } from './access-changes.ts'
import { type Act, recordAudit, systemAct } from './audit.ts'
import { bringPersonUpToDate } from './people.ts'

/** Makes a person superuser. @throws AppError 400 when they are one already */
export async function createSuperuser(
  ctx: Pick<PortalContext, 'changes'>,
  input: SuperuserInput,
  act: Act,
): Promise<PersonRow> {
  return ctx.changes.commit([subjectOf.user(input.qNumber)], async (trx) => {
    const before = await bringPersonUpToDate(trx, input, act)
    if (before.is_superuser) throw superuserExists(input.qNumber)
    return appoint(trx, before, act)
  })
}

async function appoint(trx: PortalTransaction, before: PersonRow, act: Act): Promise<PersonRow> {
  const after = await setSuperuser(trx, before.user_id, act.qxId)
  await recordAudit(trx, act, { ...resource(before.user_id), before, after })
  return after
}

const resource = (userId: string) => ({ spaceId: null, resourceType: 'superuser', resourceId: userId })

/** @throws AppError 400 when the new Q number is another person's, 404, 409 when it is a client's, 412 */
export async function updateSuperuser(
  ctx: PortalContext,
  userId: string,
  changes: SuperuserChanges,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<PersonRow> {
  const found = await findSuperuser(ctx.db, userId)
  if (found === undefined) throw superuserNotFound(userId)
  const subjects = [found.q_number, changes.qNumber ?? found.q_number].map(subjectOf.user)
  try {
    return await ctx.changes.commit(subjects, async (trx) => {
      const before = await lockSuperuser(trx, userId)
      if (changes.qNumber !== undefined && changes.qNumber !== before?.q_number) {
        await claimPersonId(trx, changes.qNumber)
      }
      const after = await updateSuperuserById(trx, userId, changes, act.qxId, versions)
      if (after === undefined) throw missed(before !== undefined, superuserNotFound(userId))
      await recordAudit(trx, act, { ...resource(userId), before, after })
      return after
    })
  } catch (error) {
    if (isUniqueViolation(error, 'people_q_number_unique')) throw qNumberTaken(changes.qNumber ?? '')
    throw error
  }
}

/**
 * Takes a superuser's rights away, in every process; as a person they stay. All superusers are locked, so of two removals
 * at the same moment the second sees the first.
 * @throws AppError 404, 409 for the last one, 412
 */
export async function removeSuperuser(
  ctx: PortalContext,
  userId: string,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<void> {
  const found = await findSuperuser(ctx.db, userId)
  if (found === undefined) throw superuserNotFound(userId)
  await ctx.changes.commit([subjectOf.user(found.q_number)], async (trx) => {
    const superusers = await lockSuperusers(trx)
    const before = superusers.find((person) => person.user_id === found.user_id)
    if (before === undefined) throw superuserNotFound(userId)
    if (versions !== undefined && !versions.includes(before.version)) throw preconditionFailed()
    if (superusers.length === 1) throw lastSuperuser()
    const after = await unsetSuperuser(trx, before.user_id)
    await recordAudit(trx, act, { ...resource(before.user_id), before, after })
  })
}

/** For the first start: makes the person superuser, whoever they were before. */
export async function ensureSuperuser(
  ctx: Pick<PortalContext, 'changes'>,
  person: { qNumber: string; name: string; mailAddress?: string | undefined },
): Promise<void> {
  const { qNumber, name, mailAddress = '' } = person
  await ctx.changes.commit([subjectOf.user(qNumber)], async (trx) => {
    const act = systemAct('makeSuperuser')
    const person = await bringPersonUpToDate(trx, { qNumber, name, mailAddress }, act)
    if (!person.is_superuser) await appoint(trx, person, act)
  })
}

/** For the first start: a machine client with a superuser's rights. */
export async function ensureSuperuserClient(
  ctx: Pick<PortalContext, 'changes'>,
  client: { clientId: string; name: string },
): Promise<void> {
  const { clientId } = client
  await ctx.changes.commit([subjectOf.client(clientId)], async (trx) => {
    await upsertSuperuserClient(trx, client)
    const after = { ...client, superuser: true }
    const change = { spaceId: null, resourceType: 'client', resourceId: clientId, after }
    await recordAudit(trx, systemAct('makeSuperuserClient'), change)
  })
}

/** The people who are superusers. */
export const listSuperuserPeople = (ctx: PortalContext, query: Parameters<typeof listSuperusers>[1]) =>
  listSuperusers(ctx.db, query)
