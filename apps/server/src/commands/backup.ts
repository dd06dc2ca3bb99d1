import { mkdir, readdir } from 'node:fs/promises'
import path from 'node:path'
import { readKeyFile } from '@atrium/kernel/crypto'
import { OperatorError } from '@atrium/kernel/errors'
import { createLogger } from '@atrium/kernel/log'
import pg from 'pg'
import { copyRetrieval } from '../backup/copy-retrieval.ts'
import { dumpDatabase } from '../backup/dump-database.ts'
import { writeDurably } from '../backup/files.ts'
import { Journals } from '../backup/journals.ts'
import { type BackedUpFile, FORMAT, writeManifest } from '../backup/manifest.ts'
import { type Config, parseConfig } from '../config.ts'
import { joinDatabase } from '../database.ts'
import { bringUpToDate, migrationSets } from '../migrations.ts'

const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** The folder of embeddings; undefined where they lie in object storage. */
export function retrievalFolder({ agents, dataDir }: Config): string | undefined {
  const uri = agents.ATRIUM_RETRIEVAL_URI ?? path.join(dataDir, 'retrieval')
  return uri.includes('://') ? undefined : path.resolve(uri)
}

async function demandNewFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if ((await readdir(folder)).length > 0)
    throw new OperatorError(`${folder} is not empty: name a new folder.`)
}

async function activeStores(ownerUrl: string, asOf: 'now' | readonly string[]): Promise<string[]> {
  const client = new pg.Client({ connectionString: ownerUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ id: string }>(
      "SELECT vector_store_id::text AS id FROM agents.vector_stores WHERE status = 'active'",
    )
    const living = new Set(rows.map(({ id }) => id))
    return asOf === 'now' ? [...living] : asOf.filter((id) => !living.has(id))
  } finally {
    await client.end()
  }
}

/**
 * Copies the platform into a new folder, while it runs: the database at one moment, then the embeddings, so that nothing
 * in the database lacks its embeddings. The manifest comes last: a folder without one is no backup.
 * @throws OperatorError
 */
export async function backup(env: NodeJS.ProcessEnv, target: string): Promise<void> {
  const config = parseConfig(env)
  const folder = path.resolve(target)
  await demandNewFolder(folder)
  const database = await joinDatabase(config)
  const ownerUrl = database.ownerUrl ?? database.url
  await using journals = new Journals(config.dataDir)
  try {
    await bringUpToDate(database, createLogger({ level: 'error', fd: 2 }))
    await journals.openAll()
    const stores = await activeStores(ownerUrl, 'now')
    const schemas = migrationSets.map(({ schema }) => schema)
    const part = await dumpDatabase(ownerUrl, folder, schemas, () => journals.openAll())
    const root = retrievalFolder(config)
    const files: BackedUpFile[] = [...part.files, ...(await journals.copyTo(folder))]
    if (root !== undefined) files.push(...(await copyRetrieval(root, folder)))
    const hasMasterKey = config.platform.ATRIUM_MASTER_KEY === undefined
    if (hasMasterKey) {
      const lines = readKeyFile(config.dataDir).lines.map((line) => `${line}\n`)
      files.push(await writeDurably(folder, 'master.key', lines))
    }
    const { files: _listed, ...described } = part
    await writeManifest(folder, {
      format: FORMAT,
      createdAt: new Date().toISOString(),
      ...described,
      retrievalUri: root === undefined ? (config.agents.ATRIUM_RETRIEVAL_URI ?? null) : null,
      deletedStores: await activeStores(ownerUrl, stores),
      hasMasterKey,
      files,
    })
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
    say(`${folder}: ${part.tables.length} tables and ${files.length} files, ${(bytes / 1e6).toFixed(1)} MB.`)
    if (root === undefined)
      say(`Embeddings in ${config.agents.ATRIUM_RETRIEVAL_URI} are not in it: keep versions of that bucket.`)
    say(
      hasMasterKey
        ? 'It holds the master key: keep it where only those may read who may read everything.'
        : 'ATRIUM_MASTER_KEY is not in it: keep it elsewhere, nothing sealed opens without it.',
    )
  } finally {
    await database.close()
  }
}
