import { isForeignKeyViolation } from '@atrium/kernel/db'
import { isUuid, newId } from '@atrium/kernel/ids'
import type { AgentChanges, AgentInput, AgentListQuery, DefaultParameters } from '../contract/agents.ts'
import { agentNotFound, missed, spaceNotFound, unknownModel, unknownSortField } from '../errors.ts'
import type { ModelInfo } from '../ports.ts'
import {
  AGENT_SORT_KEYS,
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
import { begun } from './begun.ts'
import type { AgentsContext } from './context.ts'
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
  try {
    return await insertAgent(ctx.db, spaceId, newId(), fields, authorOf(input.createdBy))
  } catch (error) {
    throw isForeignKeyViolation(error) ? spaceNotFound(spaceId) : error
  }
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

/** @throws AppError 400 when `sortBy` names no field */
export async function listAgents(
  ctx: AgentsContext,
  spaceId: string,
  query: AgentListQuery,
): Promise<AsyncGenerator<AgentRow[]>> {
  if (query.sortBy !== undefined && !Object.hasOwn(AGENT_SORT_KEYS, query.sortBy)) {
    throw unknownSortField(query.sortBy, Object.keys(AGENT_SORT_KEYS))
  }
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
 * @param editor who changes it, where the body does not say
 * @throws AppError 400 when there is no such model, 404, 412
 */
export async function updateAgent(
  ctx: AgentsContext,
  spaceId: string,
  agentId: string,
  changes: AgentChanges,
  editor: Author,
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
  const row = await updateAgentById(ctx.db, spaceId, agentId, fields, authorOf(updatedBy ?? editor), versions)
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
  versions: readonly number[] | undefined,
): Promise<void> {
  if (!isUuid(agentId)) throw agentNotFound(agentId)
  if (await deleteAgentById(ctx.db, spaceId, agentId, versions)) return
  throw missed(
    versions !== undefined && (await agentExists(ctx.db, spaceId, agentId)),
    agentNotFound(agentId),
  )
}
