import { type Selectable, sql, withoutUndefined } from '@atrium/kernel/db'
import { nextVersion } from './changes.ts'
import { jsonb, nullableJsonb, optionalJsonb } from './json.ts'
import { type Paging, readInBatches } from './listing.ts'
import { metadataMatches } from './metadata-match.ts'
import type { AgentsDb, JsonObject, MessageRole, MessagesTable } from './tables.ts'
import type { ThreadPath } from './threads.ts'

export type MessageRow = Selectable<MessagesTable>
export type MessagePath = ThreadPath & { readonly messageId: string }

export interface NewMessage {
  readonly role: MessageRole
  readonly content: JsonObject[]
  readonly metadata: JsonObject
  readonly model: string | undefined
  readonly usage: JsonObject | undefined
}

/**
 * Adds a message and sets its thread's last_message_at to its time, which is later than that of every message
 * before: whoever writes to the same thread at the same moment waits for the thread's row.
 * @returns undefined when there is no such thread
 */
export async function insertMessage(
  db: AgentsDb,
  { spaceId, agentId, threadId, messageId }: MessagePath,
  message: NewMessage,
): Promise<MessageRow | undefined> {
  const { rows } = await sql<MessageRow>`
    WITH thread AS (
      UPDATE agents.threads
         SET last_message_at = greatest(clock_timestamp(), last_message_at + interval '1 microsecond')
       WHERE space_id = ${spaceId} AND thread_id = ${threadId} AND agent_id = ${agentId}
      RETURNING space_id, thread_id, last_message_at
    )
    INSERT INTO agents.messages (space_id, thread_id, message_id, role, content, metadata, model, usage, created_at)
    SELECT space_id, thread_id, ${messageId}::uuid, ${message.role}::text, ${jsonb(message.content)},
           ${jsonb(message.metadata)}, ${message.model ?? null}::text, ${nullableJsonb(message.usage)}, last_message_at
      FROM thread
    RETURNING *`.execute(db)
  return rows[0]
}

const inThread = ({ spaceId, agentId, threadId }: ThreadPath) =>
  sql<boolean>`EXISTS (SELECT FROM agents.threads AS t
    WHERE t.space_id = ${spaceId} AND t.thread_id = ${threadId} AND t.agent_id = ${agentId})`

export async function selectMessage(db: AgentsDb, path: MessagePath): Promise<MessageRow | undefined> {
  return db
    .selectFrom('agents.messages')
    .selectAll()
    .where('space_id', '=', path.spaceId)
    .where('thread_id', '=', path.threadId)
    .where('message_id', '=', path.messageId)
    .where(inThread(path))
    .executeTakeFirst()
}

/** @returns undefined when there is no such message, or none of these versions */
export async function updateMessageById(
  db: AgentsDb,
  path: MessagePath,
  fields: { readonly content?: JsonObject[] | undefined; readonly metadata?: JsonObject | undefined },
  versions: readonly number[] | undefined,
): Promise<MessageRow | undefined> {
  return db
    .updateTable('agents.messages')
    .set({
      ...withoutUndefined({
        content: optionalJsonb(fields.content),
        metadata: optionalJsonb(fields.metadata),
      }),
      ...nextVersion(),
    })
    .where('space_id', '=', path.spaceId)
    .where('thread_id', '=', path.threadId)
    .where('message_id', '=', path.messageId)
    .where(inThread(path))
    .$if(versions !== undefined, (query) => query.where('version', 'in', versions ?? []))
    .returningAll()
    .executeTakeFirst()
}

/**
 * Deletes a message and sets its thread's last_message_at back to the newest that is left.
 * @returns undefined when there was none of these versions
 */
export async function deleteMessageById(
  trx: AgentsDb,
  path: MessagePath,
  versions: readonly number[] | undefined,
): Promise<Pick<MessageRow, 'role' | 'version'> | undefined> {
  const { spaceId, agentId, threadId, messageId } = path
  // The next statement sees every message that was added before the row was ours, and none comes while it is.
  await sql`SELECT FROM agents.threads
      WHERE space_id = ${spaceId} AND thread_id = ${threadId} AND agent_id = ${agentId} FOR NO KEY UPDATE`.execute(
    trx,
  )
  const ofVersion = versions === undefined ? sql`true` : sql`version = ANY (${[...versions]}::int[])`
  const { rows } = await sql<Pick<MessageRow, 'role' | 'version'>>`
      WITH gone AS (
        DELETE FROM agents.messages
         WHERE space_id = ${spaceId} AND thread_id = ${threadId} AND message_id = ${messageId}
           AND ${inThread(path)} AND ${ofVersion}
        RETURNING role, version
      ), thread AS (
        UPDATE agents.threads SET last_message_at = (
          SELECT max(created_at) FROM agents.messages
           WHERE space_id = ${spaceId} AND thread_id = ${threadId} AND message_id <> ${messageId})
         WHERE space_id = ${spaceId} AND thread_id = ${threadId} AND EXISTS (SELECT FROM gone)
      )
      SELECT role, version FROM gone`.execute(trx)
  return rows[0]
}

export interface MessageSelection {
  readonly role?: MessageRole | undefined
  readonly metadata?: JsonObject | undefined
}

export const readMessages = (
  db: AgentsDb,
  path: ThreadPath,
  { role, metadata = {} }: MessageSelection,
  paging: Paging,
): AsyncGenerator<MessageRow[]> =>
  readInBatches<MessageRow>(
    db,
    {
      table: sql`agents.messages`,
      where: [
        sql`space_id = ${path.spaceId}`,
        sql`thread_id = ${path.threadId}`,
        inThread(path),
        ...(role === undefined ? [] : [sql`role = ${role}`]),
        ...metadataMatches(sql`metadata`, metadata),
      ],
      key: sql.ref('created_at'),
      id: sql.ref('message_id'),
    },
    paging,
  )
