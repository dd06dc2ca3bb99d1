export { type Generated, type Kysely, type RawBuilder, type Selectable, sql, type Transaction } from 'kysely'
export type { Pool } from 'pg'
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
export { createNotifications, type Notifications } from './notifications.ts'
export { createDatabase, createPool, isForeignKeyViolation, isUniqueViolation } from './pool.ts'
