import type { Dirent } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { contentAt, writeDurably } from './files.ts'
import type { BackedUpFile } from './manifest.ts'

const TRIES = 5
const VERSIONS = '_versions'

const isGone = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'

const entriesOf = (folder: string): Promise<Dirent[]> =>
  readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (isGone(error)) return []
    throw error
  })

async function* filesBelow(root: string, at: string): AsyncGenerator<string> {
  for (const entry of await entriesOf(path.join(root, ...at.split('/')))) {
    const file = `${at}/${entry.name}`
    if (entry.isDirectory()) yield* filesBelow(root, file)
    else yield file
  }
}

/** Manifests are named by their version, or by 2^64 - 1 less it in 20 digits, so that the newest is listed first. */
function versionOf(name: string): bigint {
  const digits = /^(\d+)\.manifest$/.exec(name)?.[1]
  if (digits === undefined) return -1n
  const number = BigInt(digits)
  return digits.length === 20 && number > 2n ** 63n ? 2n ** 64n - 1n - number : number
}

async function newestManifest(root: string, table: string): Promise<string | undefined> {
  const names = (await entriesOf(path.join(root, table, VERSIONS))).map(({ name }) => name)
  const [newest] = names
    .filter((name) => versionOf(name) >= 0n)
    .sort((a, b) => (versionOf(a) < versionOf(b) ? 1 : -1))
  return newest
}

/**
 * Copies the newest version of a table. Its files never change, and whatever a version needs is there before the
 * version is; one that vanishes while it is copied was the last of an older version, or the table has moved on so far
 * that it is copied again.
 * @returns undefined when there is no such table any more
 */
async function copyTable(root: string, folder: string, table: string): Promise<BackedUpFile[] | undefined> {
  for (let attempt = 1; ; attempt++) {
    const manifest = await newestManifest(root, table)
    if (manifest === undefined) return undefined
    try {
      const copied: BackedUpFile[] = []
      const copy = async (file: string): Promise<void> => {
        copied.push(await writeDurably(folder, `retrieval/${file}`, contentAt(root, file)))
      }
      await copy(`${table}/${VERSIONS}/${manifest}`)
      for await (const file of filesBelow(root, table)) {
        if (!file.startsWith(`${table}/${VERSIONS}/`)) await copy(file)
      }
      return copied
    } catch (error) {
      if (!isGone(error) || attempt === TRIES) throw error
      await rm(path.join(folder, 'retrieval', table), { recursive: true, force: true })
    }
  }
}

/** Copies the embeddings of a folder, each store at a moment of its own, while the platform writes to them. */
export async function copyRetrieval(root: string, folder: string): Promise<BackedUpFile[]> {
  const files: BackedUpFile[] = []
  for (const entry of await entriesOf(root)) {
    if (entry.isDirectory()) files.push(...((await copyTable(root, folder, entry.name)) ?? []))
  }
  return files
}
