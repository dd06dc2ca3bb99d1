import { createHash, type Hash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, realpath } from 'node:fs/promises'
import { Readable } from 'node:stream'

const CHUNK_BYTES = 128 * 1024

/** A file that a task left, opened. */
export interface PlainFile {
  /** Bytes that it had when it was opened; no more are read. */
  readonly size: number
  /** Its bytes, once; `digest` is their SHA-256 when they were read. */
  read(): { readonly bytes: Readable; digest(): Buffer }
  close(): Promise<void>
}

/**
 * Opens a file that code of a tenant has made. What is no plain file, or leads elsewhere by links, is not opened.
 * @returns why not, in words
 */
export async function openPlainFile(file: string): Promise<PlainFile | string> {
  // Neither waits for a pipe's other end nor follows a link.
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => error.code ?? 'UNKNOWN',
  )
  if (typeof handle === 'string')
    return handle === 'ELOOP' ? 'it is a symbolic link' : `it cannot be read (${handle})`
  const { size, nlink, ...stat } = await handle.stat().then((found) => ({
    size: found.size,
    nlink: found.nlink,
    isFile: found.isFile(),
  }))
  const real = await realpath(file).catch(() => undefined)
  const reason = !stat.isFile
    ? 'it is not a plain file'
    : nlink > 1
      ? 'it has other names (hard links)'
      : real !== file
        ? 'it lies behind a symbolic link'
        : undefined
  if (reason !== undefined) {
    await handle.close()
    return reason
  }
  return {
    size,
    read() {
      const hash = createHash('sha256')
      return {
        bytes: Readable.from(chunksOf(handle, size, hash), { objectMode: false }),
        digest: () => hash.digest(),
      }
    },
    close: () => handle.close(),
  }
}

async function* chunksOf(handle: FileHandle, size: number, hash: Hash): AsyncGenerator<Buffer> {
  for (let at = 0; at < size; ) {
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - at))
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, at)
    if (bytesRead === 0) return
    const chunk = buffer.subarray(0, bytesRead)
    hash.update(chunk)
    yield chunk
    at += bytesRead
  }
}
