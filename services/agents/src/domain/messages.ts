import type { Act, AuditChange } from '@atrium/access'
import { isUuid, newId } from '@atrium/kernel/ids'
import type { AgentsContext } from '../context.ts'
import type { MessageChanges, MessageInput, Usage } from '../contract/messages.ts'
import { messageNotFound, missed, threadNotFound } from '../errors.ts'
import {
  deleteMessageById,
  insertMessage,
  type MessagePath,
  type MessageRow,
  type MessageSelection,
  readMessages,
  selectMessage,
  updateMessageById,
} from '../queries/messages.ts'
import type { JsonObject, MessageRole } from '../queries/tables.ts'
import type { ThreadPath } from '../queries/threads.ts'
import { audited, namesOf } from './audited.ts'
import { begun } from './begun.ts'
import { metadataFilterOf } from './metadata-query.ts'
import { demandFiniteNumbers } from './stored-json.ts'
import { demandThread } from './threads.ts'

interface Paging {
  readonly limit?: number
  readonly page?: number
}

const entryOf = ({ spaceId, messageId }: MessagePath): AuditChange => ({
  spaceId,
  resourceType: 'message',
  resourceId: messageId,
})

/** A message as the audit log shows it: without what it says. */
const shown = ({ thread_id, role, model, version }: MessageRow) => ({ thread_id, role, model, version })

const isThreadPath = ({ agentId, threadId }: ThreadPath): boolean => isUuid(agentId) && isUuid(threadId)
const isPath = (path: MessagePath): boolean => isThreadPath(path) && isUuid(path.messageId)

const COUNTS = ['prompt_tokens', 'completion_tokens', 'total_tokens'] as const

const knownCounts = (usage: Usage): JsonObject =>
  Object.fromEntries(COUNTS.flatMap((name) => (usage[name] === undefined ? [] : [[name, usage[name]]])))

/** @throws AppError 400, 404 when there is no such thread */
export async function createMessage(
  ctx: AgentsContext,
  thread: ThreadPath,
  input: MessageInput,
  act: Act,
): Promise<MessageRow> {
  if (!isThreadPath(thread)) throw threadNotFound(thread.threadId)
  const { role, content, metadata = {}, model, usage } = input
  demandFiniteNumbers('body.content', content)
  demandFiniteNumbers('body.metadata', metadata)
  const path = { ...thread, messageId: newId() }
  const message = { role, content, metadata, model, usage: usage && knownCounts(usage) }
  const row = await audited(
    ctx,
    act,
    (trx) => insertMessage(trx, path, message),
    (after) => ({ ...entryOf(path), after: shown(after) }),
  )
  if (row === undefined) throw threadNotFound(thread.threadId)
  return row
}

/** @throws AppError 404 */
export async function getMessage(ctx: AgentsContext, path: MessagePath): Promise<MessageRow> {
  const row = isPath(path) ? await selectMessage(ctx.db, path) : undefined
  if (row === undefined) throw messageNotFound(path.messageId)
  return row
}

async function read(
  ctx: AgentsContext,
  thread: ThreadPath,
  selection: MessageSelection,
  paging: Paging,
): Promise<AsyncGenerator<MessageRow[]>> {
  if (!isThreadPath(thread)) throw threadNotFound(thread.threadId)
  const batches = readMessages(ctx.db, thread, selection, paging)
  return begun(batches, () => demandThread(ctx, thread))
}

/** In the order of their creation. @throws AppError 404 when there is no such thread */
export const listMessages = (
  ctx: AgentsContext,
  thread: ThreadPath,
  query: Paging & { readonly role?: MessageRole },
): Promise<AsyncGenerator<MessageRow[]>> => read(ctx, thread, { role: query.role }, query)

/** @throws AppError 400, 404 when there is no such thread */
export const queryMessages = async (
  ctx: AgentsContext,
  thread: ThreadPath,
  body: { readonly metadata?: JsonObject },
  paging: Paging,
): Promise<AsyncGenerator<MessageRow[]>> => read(ctx, thread, { metadata: metadataFilterOf(body) }, paging)

/** @throws AppError 400, 404, 412 */
export async function updateMessage(
  ctx: AgentsContext,
  path: MessagePath,
  { content, metadata }: MessageChanges,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<MessageRow> {
  if (!isPath(path)) throw messageNotFound(path.messageId)
  demandFiniteNumbers('body.content', content)
  demandFiniteNumbers('body.metadata', metadata)
  const changes = { content, metadata }
  const row = await audited(
    ctx,
    act,
    (trx) => updateMessageById(trx, path, changes, versions),
    (after) => ({ ...entryOf(path), after: { ...shown(after), changed: namesOf(changes) } }),
  )
  if (row !== undefined) return row
  throw missed(await isThere(ctx, path, versions), messageNotFound(path.messageId))
}

/** @throws AppError 404, 412 */
export async function deleteMessage(
  ctx: AgentsContext,
  path: MessagePath,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<void> {
  if (!isPath(path)) throw messageNotFound(path.messageId)
  const deleted = await audited(
    ctx,
    act,
    (trx) => deleteMessageById(trx, path, versions),
    (before) => ({ ...entryOf(path), before }),
  )
  if (deleted !== undefined) return
  throw missed(await isThere(ctx, path, versions), messageNotFound(path.messageId))
}

/** Only a caller who named versions can have missed a message that is there. */
const isThere = async (
  ctx: AgentsContext,
  path: MessagePath,
  versions: readonly number[] | undefined,
): Promise<boolean> => versions !== undefined && (await selectMessage(ctx.db, path)) !== undefined
