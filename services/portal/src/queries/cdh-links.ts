import { type Selectable, sql } from 'kysely'
import { folded, type Listed, type ListQuery, listRows, plainOrder, textOrder } from './listing.ts'
import { type Actor, createdBy, modifiedBy } from './stamps.ts'
import type { CdhLinksTable, PortalDb, PortalTransaction } from './tables.ts'

export type CdhLinkRow = Selectable<CdhLinksTable>

export interface CdhLinkFields {
  readonly cdhEnvAccountID: string
  readonly name: string
  readonly cdhType: 'Provider' | 'UseCase'
  readonly cdhHub: string
  readonly cdhProviderId: string
  readonly cdhUseCaseId: string
  readonly stage: 'Dev' | 'Int' | 'Prod'
}

const columnsOf = (fields: CdhLinkFields) => ({
  cdh_env_account_id: fields.cdhEnvAccountID,
  name: fields.name,
  cdh_type: fields.cdhType,
  cdh_hub: fields.cdhHub,
  cdh_provider_id: fields.cdhProviderId,
  cdh_use_case_id: fields.cdhUseCaseId,
  stage: fields.stage,
})

/** @throws the unique violation of `cdh_links_name_unique`, or the space's foreign-key violation */
export async function insertCdhLink(
  db: PortalDb,
  spaceId: string,
  linkId: string,
  fields: CdhLinkFields,
  actor: Actor,
): Promise<CdhLinkRow> {
  return db
    .insertInto('portal.cdh_links')
    .values({ space_id: spaceId, cdh_workspace_id: linkId, ...columnsOf(fields), ...createdBy(actor) })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Reads a link and keeps others from changing it until the transaction ends. */
export async function lockCdhLink(
  trx: PortalTransaction,
  spaceId: string,
  linkId: string,
): Promise<CdhLinkRow | undefined> {
  return trx
    .selectFrom('portal.cdh_links')
    .selectAll()
    .where('space_id', '=', spaceId)
    .where('cdh_workspace_id', '=', linkId)
    .forUpdate()
    .executeTakeFirst()
}

/** @throws the unique violation of `cdh_links_name_unique` */
export async function updateCdhLinkById(
  trx: PortalTransaction,
  spaceId: string,
  linkId: string,
  fields: CdhLinkFields,
  actor: Actor,
): Promise<CdhLinkRow> {
  return trx
    .updateTable('portal.cdh_links')
    .set({ ...columnsOf(fields), ...modifiedBy(actor) })
    .where('space_id', '=', spaceId)
    .where('cdh_workspace_id', '=', linkId)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** @returns whether a row was deleted */
export async function deleteCdhLinkById(
  trx: PortalTransaction,
  spaceId: string,
  linkId: string,
): Promise<void> {
  await trx
    .deleteFrom('portal.cdh_links')
    .where('space_id', '=', spaceId)
    .where('cdh_workspace_id', '=', linkId)
    .execute()
}

/** By the item’s field; the contract offers these. */
const SORTABLE = {
  cdhWorkspaceId: plainOrder('cdh_workspace_id'),
  cdhEnvAccountID: textOrder('cdh_env_account_id'),
  name: textOrder('name'),
  cdhType: plainOrder('cdh_type'),
  cdhHub: textOrder('cdh_hub'),
  cdhProviderId: textOrder('cdh_provider_id'),
  cdhUseCaseId: textOrder('cdh_use_case_id'),
  stage: plainOrder('stage'),
  spaceId: plainOrder('space_id'),
  cdhLink: folded(sql`cdh_hub || '/' || cdh_provider_id || cdh_use_case_id || '/' || cdh_env_account_id`),
  createdAt: plainOrder('created_at'),
  updatedAt: plainOrder('modified_at'),
}

export async function listCdhLinkRows(
  db: PortalDb,
  spaceId: string,
  query: ListQuery<keyof typeof SORTABLE> & { readonly stage?: string; readonly cdhType?: string },
): Promise<Listed<CdhLinkRow>> {
  const texts = [
    'cdh_env_account_id',
    'name',
    'cdh_type',
    'cdh_hub',
    'cdh_provider_id',
    'cdh_use_case_id',
    'stage',
  ]
  return listRows<CdhLinkRow>(
    db,
    {
      select: sql`*`,
      from: sql`portal.cdh_links`,
      where: [
        sql`space_id = ${spaceId}`,
        ...(query.stage === undefined ? [] : [sql`stage = ${query.stage}`]),
        ...(query.cdhType === undefined ? [] : [sql`cdh_type = ${query.cdhType}`]),
      ],
      searched: texts.map((column) => sql.ref(column)),
      sortable: SORTABLE,
      tieBreak: [sql.ref('cdh_workspace_id')],
    },
    query,
  )
}
