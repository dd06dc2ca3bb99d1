import type { WorkflowsContext } from '../context.ts'
import { tooMany } from '../errors.ts'
import { hasTooMany, type Kind } from '../queries/quotas.ts'
import type { WorkflowsDb } from '../queries/tables.ts'

const VARIABLES = {
  workflows: 'ATRIUM_WORKFLOWS_PER_SPACE',
  versions: 'ATRIUM_WORKFLOWS_VERSIONS_PER_SPACE',
  configurations: 'ATRIUM_WORKFLOWS_CONFIGURATIONS_PER_SPACE',
  secrets: 'ATRIUM_WORKFLOWS_SECRETS_PER_SPACE',
  triggers: 'ATRIUM_WORKFLOWS_TRIGGERS_PER_SPACE',
  'enabled schedules': 'ATRIUM_WORKFLOWS_SCHEDULES_PER_SPACE',
} as const satisfies Record<Kind, keyof WorkflowsContext['env']>

/** To be called in the transaction that has added one of a kind. @throws AppError 409 when the space had as many as it may */
export async function demandRoom(
  { env }: Pick<WorkflowsContext, 'env'>,
  trx: WorkflowsDb,
  kind: Kind,
  spaceId: string,
): Promise<void> {
  const most = env[VARIABLES[kind]]
  if (await hasTooMany(trx, kind, spaceId, most)) throw tooMany(kind, most)
}
