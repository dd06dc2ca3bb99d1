import { agentsMigrations } from '@atrium/agents'
import { gatewayMigrations } from '@atrium/gateway'
import { identityMigrations } from '@atrium/identity'
import type { MigrationSet } from '@atrium/kernel/db'
import { portalMigrations } from '@atrium/portal'

/** In the order in which they run; no schema refers to a later one. */
export const migrationSets: readonly MigrationSet[] = [
  identityMigrations,
  portalMigrations,
  gatewayMigrations,
  agentsMigrations,
]
