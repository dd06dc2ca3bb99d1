import { type FileHandle, open, readdir } from 'node:fs/promises'
import path from 'node:path'
import { contentOf, writeDurably } from './files.ts'
import type { BackedUpFile } from './manifest.ts'

/**
 * The gateway's journals of finished calls. They are opened before the database's moment and again right after it, and
 * read later: what is open is still there when the platform has recorded and removed it, and how far the database knows
 * it stands in the database.
 */
export class Journals implements AsyncDisposable {
  readonly #folder: string
  readonly #open = new Map<string, FileHandle>()

  constructor(dataDir: string) {
    this.#folder = path.join(dataDir, 'gateway')
  }

  async openAll(): Promise<void> {
    const names = await readdir(this.#folder).catch(() => [])
    for (const name of names.filter(
      (one) => /^usage-[0-9a-f-]{36}\.jsonl$/.test(one) && !this.#open.has(one),
    )) {
      const handle = await open(path.join(this.#folder, name), 'r').catch(() => undefined)
      if (handle !== undefined) this.#open.set(name, handle)
    }
  }

  async copyTo(folder: string): Promise<BackedUpFile[]> {
    const files: BackedUpFile[] = []
    for (const [name, handle] of this.#open) {
      files.push(await writeDurably(folder, `gateway/${name}`, contentOf(handle)))
    }
    return files
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const handle of this.#open.values()) await handle.close()
  }
}
