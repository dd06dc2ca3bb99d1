import { isForeignKeyViolation, isUniqueViolation } from '@atrium/kernel/db'
import { invalidInput, preconditionFailed } from '@atrium/kernel/errors'
import { newId } from '@atrium/kernel/ids'
import type { PortalContext } from '../context.ts'
import type { CdhLinkChanges, CdhLinkInput } from '../contract/cdh-links.ts'
import { cdhLinkNotFound, linkNameExists, spaceNotFound } from '../errors.ts'
import {
  type CdhLinkFields,
  type CdhLinkRow,
  deleteCdhLinkById,
  insertCdhLink,
  listCdhLinkRows,
  lockCdhLink,
  updateCdhLinkById,
} from '../queries/cdh-links.ts'
import { type Act, recordAudit } from './audit.ts'

type AddressParts = Pick<CdhLinkFields, 'cdhHub' | 'cdhProviderId' | 'cdhUseCaseId' | 'cdhEnvAccountID'>

/** Where the link leads; by the use case for a link that names no provider. */
export function addressOf(dataHubUrl: string, link: AddressParts): string {
  const owner =
    link.cdhProviderId === '' ? ['usecases', link.cdhUseCaseId] : ['providers', link.cdhProviderId]
  const path = [link.cdhHub, ...owner, 'environments', link.cdhEnvAccountID]
  return `${dataHubUrl.replace(/\/+$/, '')}/${path.map(encodeURIComponent).join('/')}`
}

/** @throws AppError 400 when the id that the type uses is missing */
function completed(fields: CdhLinkInput): CdhLinkFields {
  const link = {
    ...fields,
    cdhProviderId: fields.cdhProviderId ?? '',
    cdhUseCaseId: fields.cdhUseCaseId ?? '',
  }
  if (link.cdhType === 'Provider' && link.cdhProviderId === '') {
    throw invalidInput('body.cdhProviderId', 'is required where cdhType is Provider')
  }
  if (link.cdhType === 'UseCase' && link.cdhUseCaseId === '') {
    throw invalidInput('body.cdhUseCaseId', 'is required where cdhType is UseCase')
  }
  return link
}

const explain = (error: unknown, name: string, spaceId: string): unknown =>
  isUniqueViolation(error, 'cdh_links_name_unique')
    ? linkNameExists(name)
    : isForeignKeyViolation(error)
      ? spaceNotFound(spaceId)
      : error

/** @throws AppError 400, 409 when the space has a link of that name */
export async function createCdhLink(
  ctx: PortalContext,
  spaceId: string,
  input: CdhLinkInput,
  act: Act,
): Promise<CdhLinkRow> {
  const link = completed(input)
  try {
    return await ctx.db.transaction().execute(async (trx) => {
      const after = await insertCdhLink(trx, spaceId, newId(), link, act)
      await recordAudit(trx, act, { ...resource(spaceId, after.cdh_workspace_id), after })
      return after
    })
  } catch (error) {
    throw explain(error, link.name, spaceId)
  }
}

const resource = (spaceId: string, linkId: string) => ({
  spaceId,
  resourceType: 'cdh-link',
  resourceId: linkId,
})

function checked(
  row: CdhLinkRow | undefined,
  linkId: string,
  versions: readonly number[] | undefined,
): CdhLinkRow {
  if (row === undefined) throw cdhLinkNotFound(linkId)
  if (versions !== undefined && !versions.includes(row.version)) throw preconditionFailed()
  return row
}

/** @throws AppError 400, 404, 409 when the space has another link of that name, 412 */
export async function updateCdhLink(
  ctx: PortalContext,
  spaceId: string,
  linkId: string,
  changes: CdhLinkChanges,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<CdhLinkRow> {
  try {
    return await ctx.db.transaction().execute(async (trx) => {
      // Whether the whole is valid depends on old and new fields, so the row is held meanwhile.
      const old = checked(await lockCdhLink(trx, spaceId, linkId), linkId, versions)
      const after = await updateCdhLinkById(trx, spaceId, linkId, completed(merged(old, changes)), act)
      await recordAudit(trx, act, { ...resource(spaceId, linkId), before: old, after })
      return after
    })
  } catch (error) {
    throw explain(error, changes.name ?? '', spaceId)
  }
}

const merged = (old: CdhLinkRow, changes: CdhLinkChanges): CdhLinkInput => ({
  cdhEnvAccountID: changes.cdhEnvAccountID ?? old.cdh_env_account_id,
  name: changes.name ?? old.name,
  cdhType: changes.cdhType ?? old.cdh_type,
  cdhHub: changes.cdhHub ?? old.cdh_hub,
  cdhProviderId: changes.cdhProviderId ?? old.cdh_provider_id,
  cdhUseCaseId: changes.cdhUseCaseId ?? old.cdh_use_case_id,
  stage: changes.stage ?? old.stage,
})

/** @throws AppError 404, 412 */
export async function deleteCdhLink(
  ctx: PortalContext,
  spaceId: string,
  linkId: string,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<void> {
  await ctx.db.transaction().execute(async (trx) => {
    const before = checked(await lockCdhLink(trx, spaceId, linkId), linkId, versions)
    await deleteCdhLinkById(trx, spaceId, linkId)
    await recordAudit(trx, act, { ...resource(spaceId, linkId), before })
  })
}

/** The links of a space. */
export const listCdhLinks = (
  ctx: PortalContext,
  spaceId: string,
  query: Parameters<typeof listCdhLinkRows>[2],
) => listCdhLinkRows(ctx.db, spaceId, query)
