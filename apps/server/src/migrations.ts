import { fileURLToPath } from 'node:url'
import { accessMigrations } from '@atrium/access'
import { agentsMigrations } from '@atrium/agents/setup'
import { gatewayMigrations } from '@atrium/gateway/setup'
import { identityMigrations } from '@atrium/identity/setup'
import {
  createPool,
  type DatabasePool,
  doubtAbout,
  giveJobsTo,
  grantToServer,
  MigrationSession,
  type MigrationSet,
  migrate,
} from '@atrium/kernel/db'
import { OperatorError } from '@atrium/kernel/errors'
import type { Logger } from '@atrium/kernel/log'
import { portalMigrations } from '@atrium/portal/setup'
import { workflowsMigrations } from '@atrium/workflows/setup'
import type { DatabaseUrls } from './database.ts'

const platformMigrations: MigrationSet = {
  schema: 'platform',
  folder: fileURLToPath(new URL('../migrations', import.meta.url)),
}

/** In the order in which they run; no schema refers to a later one. */
export const migrationSets: readonly MigrationSet[] = [
  accessMigrations,
  identityMigrations,
  portalMigrations,
  gatewayMigrations,
  agentsMigrations,
  workflowsMigrations,
  platformMigrations,
]

/**
 * Brings the database up to date as the owner of its schemas, and gives the server's role what it needs of them.
 * @returns the migrations that ran
 * @throws OperatorError when one fails, or when the server's role could change the audit log though another one owns it
 */
export async function bringUpToDate({ url, ownerUrl }: DatabaseUrls, log: Logger): Promise<string[]> {
  await using owner = new MigrationSession(ownerUrl ?? url, { log })
  const server = createPool(url, { max: 1, applicationName: 'atrium-migrate', log })
  try {
    const done = await migrate(owner, migrationSets)
    const role = (await server.query<{ role: string }>('SELECT current_user AS role')).rows[0]?.role ?? ''
    await owner.run("giving the jobs' tables to the server", () => giveJobsTo(owner.pool, role))
    if (ownerUrl !== undefined) {
      await owner.run("granting the server's rights", () => grantToServer(owner.pool, role, migrationSets))
    }
    await demandProtectedLog(server, ownerUrl !== undefined, log)
    return done
  } finally {
    await server.end()
  }
}

/** @throws OperatorError when the server's role could change the audit log though another one owns it */
async function demandProtectedLog(server: DatabasePool, isApart: boolean, log: Logger): Promise<void> {
  const doubt = await doubtAbout(server, 'portal', 'audit_entries')
  if (doubt === undefined) return
  if (isApart) {
    throw new OperatorError(
      `ATRIUM_MIGRATION_DATABASE_URL is set, but the audit log is not protected from the server: ${doubt}. Let DATABASE_URL name a role without rights of its own.`,
    )
  }
  log.warn(
    { doubt },
    'the audit log is append-only by a trigger, but the role of DATABASE_URL could remove it: see ATRIUM_MIGRATION_DATABASE_URL',
  )
}
