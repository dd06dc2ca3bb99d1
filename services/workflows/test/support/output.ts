import path from 'node:path'
import { createDatabase, createPool } from '@atrium/kernel/db'
import { createLogger } from '@atrium/kernel/log'
import { sharedTestPlatform, type TestPlatform, type TestSpace } from '@atrium/testing'
import { FolderStore } from '../../src/adapters/results/folder-store.ts'
import { type OutputLimits, StoredOutput } from '../../src/adapters/results/stored-output.ts'
import type { BlobStore } from '../../src/domain/results/blob-store.ts'
import type { TaskRef } from '../../src/ports.ts'
import type { WorkflowsDb, WorkflowsTables } from '../../src/queries/tables.ts'

/** Where an engine beside the platform leaves what tasks say, as in another process of it. */
export interface TestStores {
  readonly db: WorkflowsDb
  readonly blobs: BlobStore
  output(limits?: Partial<OutputLimits>): StoredOutput
  close(): Promise<void>
}

export function storesOf({ databaseUrl, dataDir }: TestPlatform): TestStores {
  const log = createLogger({ level: 'silent' })
  const pool = createPool(databaseUrl, { max: 10, applicationName: 'stores', log })
  const db = createDatabase<WorkflowsTables>(pool)
  const blobs = new FolderStore(path.join(dataDir, 'artifacts'))
  return {
    db,
    blobs,
    output: (limits) => new StoredOutput(db, blobs, limits),
    close: () => pool.end(),
  }
}

/** What tests of the results of runs begin with, on the shared platform. */
export interface ResultsWorld {
  readonly platform: TestPlatform
  readonly space: TestSpace
  readonly other: TestSpace
  readonly stores: TestStores
  readonly output: StoredOutput
}

/** The caller closes the stores. */
export async function openResults(): Promise<ResultsWorld> {
  const platform = await sharedTestPlatform()
  const [space, other] = [await platform.space(), await platform.space()]
  const stores = storesOf(platform)
  return { platform, space, other, stores, output: stores.output() }
}

export const refOf = (run: { spaceId: string; runId: string }, task = 'a', attempt = 1): TaskRef => ({
  spaceId: run.spaceId,
  runId: run.runId,
  task,
  attempt,
})
