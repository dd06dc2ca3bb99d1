import type { Act } from '@atrium/access'
import type { MasterKey } from '@atrium/kernel/crypto'
import { isForeignKeyViolation } from '@atrium/kernel/db'
import { preconditionFailed } from '@atrium/kernel/errors'
import type { WorkflowsContext } from '../context.ts'
import type { ListQuery } from '../contract/common.ts'
import { missed, secretNotFound, spaceNotFound } from '../errors.ts'
import type { SecretValues } from '../ports.ts'
import {
  countSecrets,
  deleteSecretRow,
  insertSecret,
  readSecrets,
  type SecretRow,
  selectSealed,
  selectSecret,
  updateSecret,
} from '../queries/secrets.ts'
import type { WorkflowsDb } from '../queries/tables.ts'
import { begun, type Found } from './begun.ts'
import { demandRoom } from './quotas.ts'
import { secretPurpose } from './secret-purpose.ts'
import { anyOf, type Upsertable } from './upsertable.ts'

type Ctx = Pick<WorkflowsContext, 'db' | 'audit' | 'masterKey' | 'env'>

/** Spaces have ids in one form, whatever letters a caller writes them with. */
const purposeOf = (spaceId: string, name: string): string => secretPurpose(`${spaceId.toLowerCase()}/${name}`)

const entryOf = (spaceId: string, name: string) => ({
  spaceId,
  resourceType: 'workflow_secret',
  resourceId: name,
})

const shown = ({ row_version }: SecretRow) => ({ version: row_version })

/** Opens the values of secrets for tasks that start. */
export const secretValues = ({ db, masterKey }: { db: WorkflowsDb; masterKey: MasterKey }): SecretValues => ({
  async open(spaceId, names) {
    const rows = await selectSealed(db, spaceId, names)
    return new Map(
      rows.map(({ name, sealed }) => [name, masterKey.open(purposeOf(spaceId, name), sealed)] as const),
    )
  },
})

/** @returns and whether it is new @throws AppError 404 when the space goes at this moment, 409 where it has as many as it may, 412 */
export async function putSecret(
  ctx: Ctx,
  spaceId: string,
  name: string,
  value: string,
  act: Act,
  versions: Upsertable,
): Promise<{ row: SecretRow; isNew: boolean }> {
  const secret = { sealed: ctx.masterKey.seal(purposeOf(spaceId, name), value), updatedBy: act.qxId }
  return ctx.db
    .transaction()
    .execute(async (trx) => {
      const made = versions === undefined ? await insertSecret(trx, spaceId, name, secret) : undefined
      if (made !== undefined) await demandRoom(ctx, trx, 'secrets', spaceId)
      const row = made ?? (await updateSecret(trx, spaceId, name, secret, anyOf(versions)))
      if (row === undefined) throw preconditionFailed()
      await ctx.audit.record(trx, act, { ...entryOf(spaceId, name), after: shown(row) })
      return { row, isNew: made !== undefined }
    })
    .catch((error: unknown) => {
      throw isForeignKeyViolation(error) ? spaceNotFound(spaceId) : error
    })
}

/** @throws AppError 404 */
export async function getSecret({ db }: Pick<Ctx, 'db'>, spaceId: string, name: string): Promise<SecretRow> {
  const row = await selectSecret(db, spaceId, name)
  if (row === undefined) throw secretNotFound(name)
  return row
}

export async function listSecrets(
  { db }: Pick<Ctx, 'db'>,
  spaceId: string,
  query: ListQuery,
): Promise<Found<SecretRow>> {
  const [rows, total] = await Promise.all([begun(readSecrets(db, spaceId, query)), countSecrets(db, spaceId)])
  return { rows, total }
}

/** @throws AppError 404, 412 */
export async function deleteSecret(
  ctx: Ctx,
  spaceId: string,
  name: string,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<void> {
  await ctx.db.transaction().execute(async (trx) => {
    const before = await deleteSecretRow(trx, spaceId, name, versions)
    if (before === undefined)
      throw missed((await selectSecret(trx, spaceId, name)) !== undefined, secretNotFound(name))
    await ctx.audit.record(trx, act, { ...entryOf(spaceId, name), before: shown(before) })
  })
}
