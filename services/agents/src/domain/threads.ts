import type { Act, AuditChange } from '@atrium/access'
import { isForeignKeyViolation } from '@atrium/kernel/db'
import { isUuid, newId } from '@atrium/kernel/ids'
import type { AgentsContext } from '../context.ts'
import type { ThreadInput } from '../contract/threads.ts'
import { agentNotFound, missed, threadNotFound } from '../errors.ts'
import type { JsonObject, ThreadStatus } from '../queries/tables.ts'
import {
  deleteThreadById,
  insertThread,
  readThreads,
  selectThread,
  type ThreadPath,
  type ThreadRow,
  type ThreadSelection,
  threadExists,
  updateThreadById,
} from '../queries/threads.ts'
import { demandAgent } from './agents.ts'
import { audited, namesOf } from './audited.ts'
import { begun } from './begun.ts'
import { metadataFilterOf } from './metadata-query.ts'
import { demandFiniteNumbers } from './stored-json.ts'

interface Paging {
  readonly limit?: number
  readonly page?: number
}

const entryOf = ({ spaceId, threadId }: ThreadPath): AuditChange => ({
  spaceId,
  resourceType: 'thread',
  resourceId: threadId,
})

/** A thread as the audit log shows it: titles tell what was talked about. */
const shown = ({ agent_id, status, version }: ThreadRow) => ({ agent_id, status, version })

const isPath = ({ agentId, threadId }: ThreadPath): boolean => isUuid(agentId) && isUuid(threadId)

/** @throws AppError 404 when there is no such agent, also when it goes at this moment */
export async function createThread(
  ctx: AgentsContext,
  spaceId: string,
  agentId: string,
  { title, status, metadata }: ThreadInput,
  act: Act,
): Promise<ThreadRow> {
  if (!isUuid(agentId)) throw agentNotFound(agentId)
  demandFiniteNumbers('body.metadata', metadata)
  try {
    const path = { spaceId, agentId, threadId: newId() }
    const row = await audited(
      ctx,
      act,
      (trx) => insertThread(trx, path, { title, status, metadata }),
      (after) => ({ ...entryOf(path), after: shown(after) }),
    )
    if (row !== undefined) return row
  } catch (error) {
    if (!isForeignKeyViolation(error)) throw error
  }
  throw agentNotFound(agentId)
}

/** @throws AppError 404 */
export async function getThread(ctx: AgentsContext, path: ThreadPath): Promise<ThreadRow> {
  const row = isPath(path) ? await selectThread(ctx.db, path) : undefined
  if (row === undefined) throw threadNotFound(path.threadId)
  return row
}

/** @throws AppError 404; for use when something below the thread was not found */
export async function demandThread(ctx: AgentsContext, path: ThreadPath): Promise<void> {
  if (!isPath(path) || !(await threadExists(ctx.db, path))) throw threadNotFound(path.threadId)
}

async function read(
  ctx: AgentsContext,
  spaceId: string,
  agentId: string,
  selection: ThreadSelection,
  paging: Paging,
): Promise<AsyncGenerator<ThreadRow[]>> {
  if (!isUuid(agentId)) throw agentNotFound(agentId)
  const batches = readThreads(ctx.db, spaceId, agentId, selection, paging)
  return begun(batches, () => demandAgent(ctx, spaceId, agentId))
}

/** @throws AppError 404 when there is no such agent */
export const listThreads = (
  ctx: AgentsContext,
  spaceId: string,
  agentId: string,
  query: Paging & { readonly status?: ThreadStatus },
): Promise<AsyncGenerator<ThreadRow[]>> => read(ctx, spaceId, agentId, { status: query.status }, query)

/** @throws AppError 400, 404 when there is no such agent */
export const queryThreads = async (
  ctx: AgentsContext,
  spaceId: string,
  agentId: string,
  body: { readonly metadata?: JsonObject },
  paging: Paging,
): Promise<AsyncGenerator<ThreadRow[]>> =>
  read(ctx, spaceId, agentId, { metadata: metadataFilterOf(body) }, paging)

/** @throws AppError 404, 412 */
export async function updateThread(
  ctx: AgentsContext,
  path: ThreadPath,
  { title, status, metadata }: ThreadInput,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<ThreadRow> {
  if (!isPath(path)) throw threadNotFound(path.threadId)
  demandFiniteNumbers('body.metadata', metadata)
  const changes = { title, status, metadata }
  const row = await audited(
    ctx,
    act,
    (trx) => updateThreadById(trx, path, changes, versions),
    (after) => ({ ...entryOf(path), after: { ...shown(after), changed: namesOf(changes) } }),
  )
  if (row !== undefined) return row
  throw missed(versions !== undefined && (await threadExists(ctx.db, path)), threadNotFound(path.threadId))
}

/** Deletes a thread with its messages. @throws AppError 404, 412 */
export async function deleteThread(
  ctx: AgentsContext,
  path: ThreadPath,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<void> {
  if (!isPath(path)) throw threadNotFound(path.threadId)
  const deleted = await audited(
    ctx,
    act,
    (trx) => deleteThreadById(trx, path, versions),
    (before) => ({ ...entryOf(path), before }),
  )
  if (deleted !== undefined) return
  throw missed(versions !== undefined && (await threadExists(ctx.db, path)), threadNotFound(path.threadId))
}
