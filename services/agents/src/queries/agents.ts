import { type RawBuilder, type Selectable, sql, withoutUndefined } from '@atrium/kernel/db'
import { touched } from './changes.ts'
import { jsonb, nullableJsonb, optionalJsonb } from './json.ts'
import { countRows, type Listing, type Paging, readInBatches } from './listing.ts'
import { metadataMatches } from './metadata-match.ts'
import type { AgentsDb, AgentsTable, Author, JsonObject } from './tables.ts'

export type AgentRow = Selectable<AgentsTable>

export interface AgentFields {
  readonly name?: string | undefined
  readonly instructions?: string | undefined
  readonly description?: string | undefined
  readonly model?: string | undefined
  readonly provider?: string | undefined
  readonly outputFormat?: string | undefined
  readonly defaultParameters?: JsonObject | undefined
  readonly metadata?: JsonObject | undefined
}

type NewAgent = Required<{ [K in keyof AgentFields]: Exclude<AgentFields[K], undefined> }>

/** @throws the foreign-key violation of a space that is gone */
export async function insertAgent(
  db: AgentsDb,
  spaceId: string,
  agentId: string,
  fields: NewAgent,
  createdBy: Author,
): Promise<AgentRow> {
  return db
    .insertInto('agents.agents')
    .values({
      space_id: spaceId,
      agent_id: agentId,
      name: fields.name,
      instructions: fields.instructions,
      description: fields.description,
      model: fields.model,
      provider: fields.provider,
      output_format: fields.outputFormat,
      default_parameters: jsonb(fields.defaultParameters),
      metadata: jsonb(fields.metadata),
      created_by: jsonb(createdBy),
      updated_by: nullableJsonb<Author>(undefined),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function selectAgent(
  db: AgentsDb,
  spaceId: string,
  agentId: string,
): Promise<AgentRow | undefined> {
  return db
    .selectFrom('agents.agents')
    .selectAll()
    .where('space_id', '=', spaceId)
    .where('agent_id', '=', agentId)
    .executeTakeFirst()
}

export async function agentExists(db: AgentsDb, spaceId: string, agentId: string): Promise<boolean> {
  const row = await db
    .selectFrom('agents.agents')
    .select('agent_id')
    .where('space_id', '=', spaceId)
    .where('agent_id', '=', agentId)
    .executeTakeFirst()
  return row !== undefined
}

/** @returns undefined when there is no such agent, or none of these versions */
export async function updateAgentById(
  db: AgentsDb,
  spaceId: string,
  agentId: string,
  fields: AgentFields,
  updatedBy: Author,
  versions: readonly number[] | undefined,
): Promise<AgentRow | undefined> {
  return db
    .updateTable('agents.agents')
    .set({
      ...withoutUndefined({
        name: fields.name,
        instructions: fields.instructions,
        description: fields.description,
        model: fields.model,
        provider: fields.provider,
        output_format: fields.outputFormat,
        default_parameters: optionalJsonb(fields.defaultParameters),
        metadata: optionalJsonb(fields.metadata),
      }),
      updated_by: jsonb(updatedBy),
      ...touched(),
    })
    .where('space_id', '=', spaceId)
    .where('agent_id', '=', agentId)
    .$if(versions !== undefined, (query) => query.where('version', 'in', versions ?? []))
    .returningAll()
    .executeTakeFirst()
}

/** Deletes an agent with its threads and their messages. @returns undefined when there was none of these versions */
export async function deleteAgentById(
  db: AgentsDb,
  spaceId: string,
  agentId: string,
  versions: readonly number[] | undefined,
): Promise<Pick<AgentRow, 'name' | 'model' | 'version'> | undefined> {
  return db
    .deleteFrom('agents.agents')
    .where('space_id', '=', spaceId)
    .where('agent_id', '=', agentId)
    .$if(versions !== undefined, (query) => query.where('version', 'in', versions ?? []))
    .returning(['name', 'model', 'version'])
    .executeTakeFirst()
}

/** Letters of either case sort as one. */
/** In Unicode's order, whatever the database's own, with letters of either case as one. */
const folded = (column: string): RawBuilder<unknown> => sql`lower(${sql.ref(column)} COLLATE "und-x-icu")`

/** By the item’s field; the contract offers these. */
const SORTABLE = {
  agentId: sql.ref('agent_id'),
  name: folded('name'),
  instructions: folded('instructions'),
  description: folded('description'),
  model: folded('model'),
  provider: folded('provider'),
  outputFormat: folded('output_format'),
  createdAt: sql.ref('created_at'),
  updatedAt: sql.ref('updated_at'),
}

const SEARCHED = ['name', 'instructions', 'description', 'model', 'provider', 'output_format'] as const

export interface AgentSelection {
  readonly search?: string | undefined
  readonly metadata?: JsonObject | undefined
  /** The order of creation by default. */
  readonly sortBy?: keyof typeof SORTABLE | undefined
  readonly sortOrder?: 'asc' | 'desc' | undefined
}

function listingOf(
  spaceId: string,
  { search = '', metadata = {}, sortBy, sortOrder }: AgentSelection,
): Listing {
  const found = SEARCHED.map((column) => sql`position(lower(${search}) in ${folded(column)}) > 0`)
  return {
    table: sql`agents.agents`,
    where: [
      sql`space_id = ${spaceId}`,
      ...(search === '' ? [] : [sql`(${sql.join(found, sql` OR `)})`]),
      ...metadataMatches(sql`metadata`, metadata),
    ],
    key: SORTABLE[sortBy ?? 'createdAt'],
    id: sql.ref('agent_id'),
    direction: sortOrder,
  }
}

export const readAgents = (
  db: AgentsDb,
  spaceId: string,
  selection: AgentSelection,
  paging: Paging,
): AsyncGenerator<AgentRow[]> => readInBatches<AgentRow>(db, listingOf(spaceId, selection), paging)

export const countAgents = (db: AgentsDb, spaceId: string, selection: AgentSelection): Promise<number> =>
  countRows(db, listingOf(spaceId, selection))
