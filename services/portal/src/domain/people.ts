import { claimPersonId } from '@atrium/identity'
import { newId } from '@atrium/kernel/ids'
import { lockPersonByQNumber, type PersonFields, type PersonRow, upsertPerson } from '../queries/people.ts'
import type { PortalTransaction } from '../queries/tables.ts'
import { type Act, recordAudit } from './audit.ts'

const detailsOf = ({ name, department, mail_address }: PersonRow): string =>
  JSON.stringify([name, department, mail_address])

/** Makes the person's one record for all spaces, or brings it up to date; the audit log notes what changed. @throws AppError 409 for a client's id */
export async function bringPersonUpToDate(
  trx: PortalTransaction,
  person: PersonFields,
  act: Act,
): Promise<PersonRow> {
  const before = await lockPersonByQNumber(trx, person.qNumber)
  if (before === undefined) await claimPersonId(trx, person.qNumber)
  const after = await upsertPerson(trx, newId(), person)
  if (before === undefined || detailsOf(before) !== detailsOf(after)) {
    await recordAudit(trx, act, {
      spaceId: null,
      resourceType: 'person',
      resourceId: after.user_id,
      before,
      after,
    })
  }
  return after
}
