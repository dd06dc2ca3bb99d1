import { fileURLToPath } from 'node:url'
import type { MigrationSet } from '@atrium/kernel/db'

// What every process knows of this service, also one that does not run it: it loads nothing else.
export { workflowsEnv } from './config.ts'

export const workflowsMigrations: MigrationSet = {
  schema: 'workflows',
  folder: fileURLToPath(new URL('../migrations', import.meta.url)),
}
