import type { Connection } from '@lancedb/lancedb'
import { syncTree } from '../lancedb/durable-files.ts'
import { connectTo, folderOf, type RetrievalLocation } from '../lancedb/retrieval.ts'
import { optimize, type UpkeepResult, type UpkeepTask } from './optimize.ts'

/** What the parent sends: the location once, then tasks. */
export interface ChildRequest {
  readonly id: number
  readonly location: RetrievalLocation
  readonly task: UpkeepTask
}

export type ChildAnswer =
  | { readonly id: number; readonly done: UpkeepResult }
  | { readonly id: number; readonly error: string }

let connection: Promise<Connection> | undefined

/** Does a task, and says how it went. */
export async function handle({ id, location, task }: ChildRequest): Promise<ChildAnswer> {
  try {
    connection ??= connectTo(location)
    const table = await (await connection).openTable(task.tableName)
    const done = await optimize(table, task)
    const folder = folderOf(location.uri, task.tableName)
    if (folder !== undefined) await syncTree(folder)
    return { id, done }
  } catch (error) {
    return { id, error: error instanceof Error ? error.message : String(error) }
  }
}
