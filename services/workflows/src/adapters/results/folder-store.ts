import { constants } from 'node:fs'
import { mkdir, open, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Readable } from 'node:stream'
import type { BlobKey, BlobStore } from '../../domain/results/blob-store.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Files of artifacts in a folder of this machine: `<spaceId>/<first two of its id>/<id>`. */
export class FolderStore implements BlobStore {
  readonly #root: string

  constructor(root: string) {
    this.#root = root
  }

  async put(key: BlobKey, bytes: Readable, size: number): Promise<void> {
    const file = this.#fileOf(key)
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
    const handle = await open(file, 'wx', 0o600)
    try {
      await handle.writeFile(bytes)
      if ((await handle.stat()).size !== size) throw new Error('the file changed while it was kept')
      await handle.sync()
    } finally {
      await handle.close()
    }
  }

  async read(key: BlobKey): Promise<Readable | undefined> {
    try {
      const handle = await open(this.#fileOf(key), constants.O_RDONLY | constants.O_NOFOLLOW)
      return handle.createReadStream()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }

  async remove(key: BlobKey): Promise<void> {
    await rm(this.#fileOf(key), { force: true })
  }

  close(): void {}

  #fileOf({ spaceId, blob }: BlobKey): string {
    if (!UUID.test(spaceId) || !UUID.test(blob)) throw new Error('no key of a file')
    return path.join(this.#root, spaceId, blob.slice(-2), blob)
  }
}
