import { sql } from '@atrium/kernel/db'
import type { Stage, StoredTask, WorkflowsDb } from './tables.ts'

export interface RunPlace {
  readonly workflow_id: string
  /** Of the stage; null when nothing is assigned to it. */
  readonly version_id: string | null
  readonly configuration_id: string | null
  /** The space has as many runs under way as it may have. */
  readonly is_full: boolean
}

/** A workflow, which nobody deletes until the transaction ends, and what is assigned to one of its stages. */
export async function selectRunPlace(
  trx: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  stage: Stage,
  mostActive: number,
): Promise<RunPlace | undefined> {
  const { rows } = await sql<RunPlace>`
    SELECT w.workflow_id, a.version_id, a.configuration_id,
           EXISTS (SELECT FROM workflows.runs r
                    WHERE r.space_id = ${spaceId} AND r.status IN ('Pending', 'Running', 'Cancelling')
                   OFFSET ${mostActive - 1} LIMIT 1) AS is_full
      FROM workflows.workflows w
      LEFT JOIN workflows.stage_assignments a
        ON a.space_id = w.space_id AND a.workflow_id = w.workflow_id AND a.stage = ${stage}
     WHERE w.space_id = ${spaceId} AND w.workflow_id = ${workflowId} FOR KEY SHARE OF w`.execute(trx)
  return rows[0]
}

/** The tasks of a version, which nobody replaces or deletes until the transaction ends. */
export async function selectRunTasks(
  trx: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  versionId: string,
): Promise<readonly StoredTask[] | undefined> {
  const row = await trx
    .selectFrom('workflows.versions')
    .select('tasks')
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .where('version_id', '=', versionId)
    .forShare()
    .executeTakeFirst()
  return row?.tasks
}

/** @returns the configurations of these ids that there are, by id */
export async function selectRunConfigurations(
  trx: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  configurationIds: readonly string[],
): Promise<ReadonlyMap<string, Readonly<Record<string, string>>>> {
  if (configurationIds.length === 0) return new Map()
  const rows = await trx
    .selectFrom('workflows.configurations')
    .select(['configuration_id', 'data'])
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .where('configuration_id', 'in', configurationIds)
    .execute()
  return new Map(rows.map(({ configuration_id, data }) => [configuration_id, data]))
}

/** @returns those of the names that are secrets of the space */
export async function selectKnownSecrets(
  db: WorkflowsDb,
  spaceId: string,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  if (names.length === 0) return new Set()
  const rows = await db
    .selectFrom('workflows.secrets')
    .select('name')
    .where('space_id', '=', spaceId)
    .where('name', 'in', names)
    .execute()
  return new Set(rows.map(({ name }) => name))
}
