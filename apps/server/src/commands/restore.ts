import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { OperatorError } from '@atrium/kernel/errors'
import { createLogger } from '@atrium/kernel/log'
import { contentAt, verify, writeDurably } from '../backup/files.ts'
import { demandEmptyDatabase, demandKnownMigrations, loadDatabase } from '../backup/load-database.ts'
import { type Manifest, readManifest } from '../backup/manifest.ts'
import { type Config, parseConfig } from '../config.ts'
import { INCOMPLETE, openDatabase } from '../database.ts'
import { bringUpToDate, migrationSets } from '../migrations.ts'
import { retrievalFolder } from './backup.ts'

const say = (line: string): void => void process.stdout.write(`${line}\n`)

async function demandEmpty(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  if (names.length > 0) {
    throw new OperatorError(`${folder} is not empty: restore into a new folder (ATRIUM_DATA_DIR).`)
  }
}

/** Copies the files below one folder of the backup. */
async function copyFiles(backup: string, manifest: Manifest, from: string, to: string): Promise<void> {
  for (const { path: file } of manifest.files) {
    if (!file.startsWith(`${from}/`)) continue
    await writeDurably(to, file.slice(from.length + 1), contentAt(backup, file))
  }
}

async function restoreFiles(config: Config, backup: string, manifest: Manifest): Promise<void> {
  await copyFiles(backup, manifest, 'gateway', path.join(config.dataDir, 'gateway'))
  const root = retrievalFolder(config)
  if (root !== undefined) await copyFiles(backup, manifest, 'retrieval', root)
  if (manifest.hasMasterKey && config.platform.ATRIUM_MASTER_KEY === undefined) {
    await writeDurably(config.dataDir, 'master.key', contentAt(backup, 'master.key'))
  }
}

/**
 * Fills an empty data folder, and an empty database where `DATABASE_URL` names one, from a backup of this or an older
 * release.
 * @throws OperatorError
 */
export async function restore(env: NodeJS.ProcessEnv, source: string): Promise<void> {
  const config = parseConfig(env)
  const folder = path.resolve(source)
  const manifest = await readManifest(folder)
  if (!manifest.hasMasterKey && config.platform.ATRIUM_MASTER_KEY === undefined) {
    throw new OperatorError(
      'The backup was made with ATRIUM_MASTER_KEY and holds no key: set it to the same.',
    )
  }
  await demandKnownMigrations(manifest, migrationSets)
  await verify(folder, manifest.files)
  await demandEmpty(config.dataDir)
  const root = retrievalFolder(config)
  if (root !== undefined) await demandEmpty(root)
  const log = createLogger({ level: 'warn', fd: 2 })
  await mkdir(config.dataDir, { recursive: true })
  const database = await openDatabase(config)
  try {
    const ownerUrl = database.ownerUrl ?? database.url
    const schemas = migrationSets.map(({ schema }) => schema)
    await demandEmptyDatabase(ownerUrl, schemas)
    // A platform must not start on a part of it.
    await writeFile(path.join(config.dataDir, INCOMPLETE), '')
    await restoreFiles(config, folder, manifest)
    await loadDatabase(ownerUrl, folder, manifest, migrationSets, log)
    await bringUpToDate(database, log)
    await rm(path.join(config.dataDir, INCOMPLETE))
  } finally {
    await database.close()
  }
  say(`Restored what was backed up at ${manifest.createdAt} into ${config.dataDir}.`)
  if (manifest.retrievalUri !== null) {
    say(
      `Embeddings are not in the backup: bring ${manifest.retrievalUri} back to a version of that time or later.`,
    )
  }
}
