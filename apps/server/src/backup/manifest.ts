import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { OperatorError } from '@atrium/kernel/errors'
import Type, { type Static } from 'typebox'
import { Value } from 'typebox/value'
import { writeDurably } from './files.ts'

/** Another number is another layout, which older releases refuse. */
export const FORMAT = 1
const NAME = 'manifest.json'

const BackedUpFile = Type.Object({
  /** Within the backup, with slashes. */
  path: Type.String(),
  bytes: Type.Integer(),
  sha256: Type.String(),
})
export type BackedUpFile = Static<typeof BackedUpFile>

const Manifest = Type.Object({
  format: Type.Integer(),
  createdAt: Type.String(),
  /** PostgreSQL's major version, for people. */
  postgres: Type.Integer(),
  /** The newest migration of each schema. */
  migrations: Type.Record(Type.String(), Type.String()),
  tables: Type.Array(
    Type.Object({
      schema: Type.String(),
      table: Type.String(),
      columns: Type.Array(Type.String()),
      file: Type.String(),
    }),
  ),
  /** Where identity columns go on. */
  sequences: Type.Array(
    Type.Object({ schema: Type.String(), sequence: Type.String(), value: Type.String() }),
  ),
  /** Address of object storage whose embeddings are not in the backup; null where they are. */
  retrievalUri: Type.Union([Type.String(), Type.Null()]),
  /** Vector stores that were deleted between the database's part and theirs. */
  deletedStores: Type.Array(Type.String()),
  hasMasterKey: Type.Boolean(),
  files: Type.Array(BackedUpFile),
})
export type Manifest = Static<typeof Manifest>

/** Written last: a backup without it was cut off. */
export const writeManifest = (folder: string, manifest: Manifest): Promise<BackedUpFile> =>
  writeDurably(folder, NAME, [`${JSON.stringify(manifest, null, 1)}\n`])

/** @throws OperatorError when the backup was cut off, or is of a newer release */
export async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(path.join(folder, NAME), 'utf8').catch(() => undefined)
  if (text === undefined) {
    throw new OperatorError(`${folder} is no complete backup: it has no ${NAME}, which is written last.`)
  }
  const manifest = JSON.parse(text) as { readonly format?: unknown }
  if (typeof manifest.format === 'number' && manifest.format > FORMAT) {
    throw new OperatorError(`${folder} was made by a newer Atrium; restore it with that one, or a newer one.`)
  }
  return Value.Parse(Manifest, manifest)
}
