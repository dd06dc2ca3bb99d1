import { type Selectable, sql, withoutUndefined } from '@atrium/kernel/db'
import { touched } from './changes.ts'
import { jsonb, optionalJsonb } from './json.ts'
import { type Paging, readInBatches } from './listing.ts'
import { metadataMatches } from './metadata-match.ts'
import type { AgentsDb, JsonObject, ThreadStatus, ThreadsTable } from './tables.ts'

export type ThreadRow = Selectable<ThreadsTable>

/** The way to a thread; ids of another form than UUIDs are none. */
export interface ThreadPath {
  readonly spaceId: string
  readonly agentId: string
  readonly threadId: string
}

export interface ThreadFields {
  readonly title?: string | undefined
  readonly status?: ThreadStatus | undefined
  readonly metadata?: JsonObject | undefined
}

/** @returns undefined when there is no such agent @throws the foreign-key violation when it goes meanwhile */
export async function insertThread(
  db: AgentsDb,
  { spaceId, agentId, threadId }: ThreadPath,
  fields: ThreadFields,
): Promise<ThreadRow | undefined> {
  const { rows } = await sql<ThreadRow>`
    INSERT INTO agents.threads (space_id, agent_id, thread_id, title, status, metadata)
    SELECT space_id, agent_id, ${threadId}::uuid, ${fields.title ?? null}::text, ${fields.status ?? 'open'}::text,
           ${jsonb(fields.metadata ?? {})}
      FROM agents.agents WHERE space_id = ${spaceId} AND agent_id = ${agentId}
    RETURNING *`.execute(db)
  return rows[0]
}

export async function selectThread(
  db: AgentsDb,
  { spaceId, agentId, threadId }: ThreadPath,
): Promise<ThreadRow | undefined> {
  return db
    .selectFrom('agents.threads')
    .selectAll()
    .where('space_id', '=', spaceId)
    .where('thread_id', '=', threadId)
    .where('agent_id', '=', agentId)
    .executeTakeFirst()
}

export async function threadExists(db: AgentsDb, path: ThreadPath): Promise<boolean> {
  return (await selectThread(db, path)) !== undefined
}

/** @returns undefined when there is no such thread, or none of these versions */
export async function updateThreadById(
  db: AgentsDb,
  { spaceId, agentId, threadId }: ThreadPath,
  fields: ThreadFields,
  versions: readonly number[] | undefined,
): Promise<ThreadRow | undefined> {
  return db
    .updateTable('agents.threads')
    .set({
      ...withoutUndefined({
        title: fields.title,
        status: fields.status,
        metadata: optionalJsonb(fields.metadata),
      }),
      ...touched(),
    })
    .where('space_id', '=', spaceId)
    .where('thread_id', '=', threadId)
    .where('agent_id', '=', agentId)
    .$if(versions !== undefined, (query) => query.where('version', 'in', versions ?? []))
    .returningAll()
    .executeTakeFirst()
}

/** Deletes a thread with its messages. @returns undefined when there was none of these versions */
export async function deleteThreadById(
  db: AgentsDb,
  { spaceId, agentId, threadId }: ThreadPath,
  versions: readonly number[] | undefined,
): Promise<Pick<ThreadRow, 'status' | 'version'> | undefined> {
  return db
    .deleteFrom('agents.threads')
    .where('space_id', '=', spaceId)
    .where('thread_id', '=', threadId)
    .where('agent_id', '=', agentId)
    .$if(versions !== undefined, (query) => query.where('version', 'in', versions ?? []))
    .returning(['status', 'version'])
    .executeTakeFirst()
}

export interface ThreadSelection {
  readonly status?: ThreadStatus | undefined
  readonly metadata?: JsonObject | undefined
}

export const readThreads = (
  db: AgentsDb,
  spaceId: string,
  agentId: string,
  { status, metadata = {} }: ThreadSelection,
  paging: Paging,
): AsyncGenerator<ThreadRow[]> =>
  readInBatches<ThreadRow>(
    db,
    {
      table: sql`agents.threads`,
      where: [
        sql`space_id = ${spaceId}`,
        sql`agent_id = ${agentId}`,
        ...(status === undefined ? [] : [sql`status = ${status}`]),
        ...metadataMatches(sql`metadata`, metadata),
      ],
      key: sql.ref('created_at'),
      id: sql.ref('thread_id'),
    },
    paging,
  )
