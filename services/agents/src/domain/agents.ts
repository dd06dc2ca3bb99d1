import type { Act, AuditChange } from '@atrium/access'
import { isForeignKeyViolation } from '@atrium/kernel/db'
import { isUuid, newId } from '@atrium/kernel/ids'
import type { AgentsContext } from '../context.ts'
import type { AgentChanges, AgentInput, AgentListQuery, DefaultParameters } from '../contract/agents.ts'
import { agentNotFound, missed, spaceNotFound, unknownModel } from '../errors.ts'
import type { ModelInfo } from '../ports.ts'
import {
  type AgentRow,
  type AgentSelection,
  agentExists,
  countAgents,
  deleteAgentById,
  insertAgent,
  readAgents,
  selectAgent,
  updateAgentById,
} from '../queries/agents.ts'
import type { Author, JsonObject } from '../queries/tables.ts'
import { audited, namesOf } from './audited.ts'
import { begun } from './begun.ts'
import { metadataFilterOf } from './metadata-query.ts'
import { demandFiniteNumbers } from './stored-json.ts'

interface Paging {
  readonly limit?: number
  readonly page?: number
}

const KNOWN_PARAMETERS = [
  'temperature',
  'max_tokens',
  'top_p',
  'frequency_penalty',
  'presence_penalty',
] as const

const knownParameters = (given: DefaultParameters): JsonObject =>
  Object.fromEntries(
    KNOWN_PARAMETERS.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])),
  )

const authorOf = ({ qxId, name }: Author): Author => ({ qxId, name })

const entryOf = (spaceId: string, agentId: string): AuditChange => ({
  spaceId,
  resourceType: 'agent',
  resourceId: agentId,
})

/** An agent as the audit log shows it: its instructions, description and metadata are prompts or near to them. */
const shown = ({ name, model, provider, version }: AgentRow) => ({ name, model, provider, version })

/** @throws AppError 400 */
async function modelNamed(ctx: AgentsContext, name: string, field: string): Promise<ModelInfo> {
  const model = await ctx.models.find(name)
  if (model === undefined) throw unknownModel(name, field)
  return model
}

/** @throws AppError 400 when there is no such model, 404 when the space goes at this moment */
export async function createAgent(
  ctx: AgentsContext,
  spaceId: string,
  modelName: string,
  input: AgentInput,
  act: Act,
): Promise<AgentRow> {
  const { metadata = {}, defaultParameters = {} } = input
  demandFiniteNumbers('body.metadata', metadata)
  const model = await modelNamed(ctx, modelName, 'query.model')
  const fields = {
    name: input.name,
    instructions: input.instructions,
    description: input.description,
    model: model.name,
    provider: model.provider,
    outputFormat: input.outputFormat,
    defaultParameters: knownParameters(defaultParameters),
    metadata,
  }
  const agentId = newId()
  const row = await audited(
    ctx,
    act,
    (trx) => insertAgent(trx, spaceId, agentId, fields, authorOf(input.createdBy)),
    (after) => ({ ...entryOf(spaceId, agentId), after: shown(after) }),
  ).catch((error: unknown) => {
    throw isForeignKeyViolation(error) ? spaceNotFound(spaceId) : error
  })
  // An insert without a conflict clause answers its row.
  if (row === undefined) throw spaceNotFound(spaceId)
  return row
}

/** @throws AppError 404 */
export async function getAgent(ctx: AgentsContext, spaceId: string, agentId: string): Promise<AgentRow> {
  const row = isUuid(agentId) ? await selectAgent(ctx.db, spaceId, agentId) : undefined
  if (row === undefined) throw agentNotFound(agentId)
  return row
}

/** @throws AppError 404; for use when something below the agent was not found */
export async function demandAgent(ctx: AgentsContext, spaceId: string, agentId: string): Promise<void> {
  if (!isUuid(agentId) || !(await agentExists(ctx.db, spaceId, agentId))) throw agentNotFound(agentId)
}

export async function listAgents(
  ctx: AgentsContext,
  spaceId: string,
  query: AgentListQuery,
): Promise<AsyncGenerator<AgentRow[]>> {
  return begun(readAgents(ctx.db, spaceId, query, query))
}

/** What a QUERY found: its rows, and how many there are on all pages. */
export interface FoundAgents {
  readonly rows: AsyncGenerator<AgentRow[]>
  readonly total: number
}

/** @throws AppError 400 */
export async function queryAgents(
  ctx: AgentsContext,
  spaceId: string,
  body: { readonly metadata?: JsonObject },
  paging: Paging,
): Promise<FoundAgents> {
  const selection: AgentSelection = { metadata: metadataFilterOf(body) }
  const [rows, total] = await Promise.all([
    begun(readAgents(ctx.db, spaceId, selection, paging)),
    countAgents(ctx.db, spaceId, selection),
  ])
  return { rows, total }
}

/**
 * @param act also says who changes it, where the body does not
 * @throws AppError 400 when there is no such model, 404, 412
 */
export async function updateAgent(
  ctx: AgentsContext,
  spaceId: string,
  agentId: string,
  changes: AgentChanges,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<AgentRow> {
  if (!isUuid(agentId)) throw agentNotFound(agentId)
  const { defaultParameters, updatedBy } = changes
  demandFiniteNumbers('body.metadata', changes.metadata)
  const model = changes.model === undefined ? undefined : await modelNamed(ctx, changes.model, 'body.model')
  const fields = {
    name: changes.name,
    instructions: changes.instructions,
    description: changes.description,
    model: model?.name,
    provider: model?.provider,
    outputFormat: changes.outputFormat,
    defaultParameters: defaultParameters === undefined ? undefined : knownParameters(defaultParameters),
    metadata: changes.metadata,
  }
  const row = await audited(
    ctx,
    act,
    (trx) => updateAgentById(trx, spaceId, agentId, fields, authorOf(updatedBy ?? act), versions),
    (after) => ({
      ...entryOf(spaceId, agentId),
      after: { ...shown(after), changed: namesOf(fields) },
    }),
  )
  if (row !== undefined) return row
  throw missed(
    versions !== undefined && (await agentExists(ctx.db, spaceId, agentId)),
    agentNotFound(agentId),
  )
}

/** Deletes an agent with its threads and their messages. @throws AppError 404, 412 */
export async function deleteAgent(
  ctx: AgentsContext,
  spaceId: string,
  agentId: string,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<void> {
  if (!isUuid(agentId)) throw agentNotFound(agentId)
  const deleted = await audited(
    ctx,
    act,
    (trx) => deleteAgentById(trx, spaceId, agentId, versions),
    (before) => ({ ...entryOf(spaceId, agentId), before }),
  )
  if (deleted !== undefined) return
  throw missed(
    versions !== undefined && (await agentExists(ctx.db, spaceId, agentId)),
    agentNotFound(agentId),
  )
}
