import type { Readable } from 'node:stream'

/** Which file: of its space, by an id that is never used again. */
export interface BlobKey {
  readonly spaceId: string
  readonly blob: string
}

/** Where files of artifacts are. */
export interface BlobStore {
  /** @param size in bytes, which `bytes` must have exactly */
  put(key: BlobKey, bytes: Readable, size: number): Promise<void>
  /** @returns undefined when it is not there */
  read(key: BlobKey): Promise<Readable | undefined>
  /** No matter whether it is there. */
  remove(key: BlobKey): Promise<void>
  close(): void
}
