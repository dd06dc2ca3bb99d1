export {
  type ColumnType,
  type Generated,
  type GeneratedAlways,
  type Kysely,
  type QueryExecutorProvider,
  type RawBuilder,
  type Selectable,
  sql,
  type Transaction,
} from 'kysely'
export type { Pool } from 'pg'
export { deleteInParts } from './delete-in-parts.ts'
export {
  type DataDirLock,
  type FileLock,
  lockDataDir,
  readDataDirOwner,
  tryLockFile,
} from './embedded/lock.ts'
export {
  checkEmbeddedPostgres,
  type EmbeddedPostgres,
  readEmbeddedUrl,
  startEmbeddedPostgres,
} from './embedded/postgres.ts'
export { type MigrationSet, migrate } from './migrate.ts'
export { MigrationSession, type MigrationSessionOptions } from './migration-session.ts'
export { createNotifications, type Notifications } from './notifications.ts'
export {
  createDatabase,
  createPool,
  type DatabasePool,
  isForeignKeyViolation,
  isUniqueViolation,
  type PoolOptions,
} from './pool.ts'
export {
  doubtAbout,
  ensureServerRole,
  giveJobsTo,
  grantToServer,
  SERVER_ROLE,
  serverUrlOf,
} from './server-role.ts'
export { waitForDatabase } from './wait.ts'
export { withoutUndefined } from './without-undefined.ts'
