import path from 'node:path'
import { createDatabase, createPool } from '@atrium/kernel/db'
import { createLogger } from '@atrium/kernel/log'
import type { TestPlatform } from '@atrium/testing'
import { FolderStore } from '../../src/adapters/results/folder-store.ts'
import { type OutputLimits, StoredOutput } from '../../src/adapters/results/stored-output.ts'
import type { BlobStore } from '../../src/domain/results/blob-store.ts'
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
