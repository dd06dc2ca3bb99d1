import { fileURLToPath } from 'node:url'
import type { SealedColumn } from '@atrium/kernel/crypto'
import type { MigrationSet } from '@atrium/kernel/db'
import { secretPurpose } from './config.ts'

// What every process knows of this service, also one that does not run it: it loads nothing else.
export { runsTasksHere, workflowsEnv } from './config.ts'

export const workflowsMigrations: MigrationSet = {
  schema: 'workflows',
  folder: fileURLToPath(new URL('../migrations', import.meta.url)),
}

/** What the master key seals here. */
export const workflowsSealed: readonly SealedColumn[] = [
  { schema: 'workflows', table: 'secrets', column: 'sealed', key: 'secret_id', purposeOf: secretPurpose },
]
