import { fileURLToPath } from 'node:url'
import type { MigrationSet } from '@atrium/kernel/db'

// What every process knows of this service, also one that does not run it: it loads nothing else.
export { portalEnv } from './config.ts'

export const portalMigrations: MigrationSet = {
  schema: 'portal',
  folder: fileURLToPath(new URL('../migrations', import.meta.url)),
  appendOnly: ['audit_entries'],
}
