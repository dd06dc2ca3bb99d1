import { open, readdir } from 'node:fs/promises'
import path from 'node:path'
import type { Table } from '@lancedb/lancedb'

/** Where a write puts files: rows, marks of deleted ones, and what makes a version of them. */
const WRITTEN = ['data', '_deletions', '_transactions', '_versions']

const isGone = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')

/** What is gone meanwhile needs no syncing: a table that was deleted, or a file that was pruned. */
async function syncFile(file: string): Promise<void> {
  try {
    await using handle = await open(file, 'r')
    await handle.sync()
  } catch (error) {
    if (!isGone(error)) throw error
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => !name.startsWith('.tmp'))
  } catch (error) {
    if (isGone(error)) return []
    throw error
  }
}

/** Has the disk keep all files of a table. */
export async function syncTree(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    if (isGone(error)) return []
    throw error
  })
  const paths = entries.map((entry) => path.join(entry.parentPath, entry.name))
  for (let i = 0; i < paths.length; i += 16) await Promise.all(paths.slice(i, i + 16).map(syncFile))
  await syncFile(folder)
  await syncFile(path.dirname(folder))
}

/** LanceDB leaves it to the operating system when files reach the disk: a power cut could lose what was acknowledged. */
class DurableFiles {
  readonly #folder: string
  /** What the disk keeps already, by folder. */
  readonly #synced = new Map<string, ReadonlySet<string>>()

  constructor(folder: string) {
    this.#folder = folder
  }

  async sync(): Promise<void> {
    if (this.#synced.size === 0) await syncTree(this.#folder)
    await Promise.all(WRITTEN.map((name) => this.#syncNew(path.join(this.#folder, name))))
  }

  async #syncNew(folder: string): Promise<void> {
    const known = this.#synced.get(folder)
    const names = await namesIn(folder)
    const fresh = names.filter((name) => known?.has(name) !== true)
    await Promise.all(fresh.map((name) => syncFile(path.join(folder, name))))
    if (fresh.length > 0) await syncFile(folder)
    // Only now: another write that looks meanwhile must not take them for kept.
    this.#synced.set(folder, new Set(names))
  }
}

const files = new WeakMap<Table, DurableFiles>()

/** Says where a table's files are, if they are on a disk of this machine. */
export function keepDurable(table: Table, folder: string): void {
  files.set(table, new DurableFiles(folder))
}

/** Waits until the disk keeps what was written to a table. Object storage keeps it at once. */
export async function madeDurable(table: Table): Promise<void> {
  await files.get(table)?.sync()
}
