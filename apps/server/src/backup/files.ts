import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import path from 'node:path'
import { OperatorError } from '@atrium/kernel/errors'
import type { BackedUpFile } from './manifest.ts'

type Source = AsyncIterable<Buffer | string> | Iterable<Buffer | string>

/** Brings a folder's entries to the disk; a file system without that keeps them in its own way. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Writes a file that is on the disk when this resolves, a piece at a time. Readable by its owner alone: it holds what
 * the platform holds.
 * @param file its place within `folder`, with slashes
 */
export async function writeDurably(folder: string, file: string, source: Source): Promise<BackedUpFile> {
  const target = path.join(folder, ...file.split('/'))
  await mkdir(path.dirname(target), { recursive: true, mode: 0o700 })
  const hash = createHash('sha256')
  let bytes = 0
  const handle = await open(target, 'wx', 0o600)
  try {
    for await (const piece of source) {
      const data = typeof piece === 'string' ? Buffer.from(piece) : piece
      hash.update(data)
      bytes += data.length
      await handle.writeFile(data)
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
  await syncFolder(path.dirname(target))
  return { path: file, bytes, sha256: hash.digest('hex') }
}

/** What a file that is open holds, also after its name is gone. */
export const contentOf = (handle: FileHandle): AsyncIterable<Buffer> =>
  handle.createReadStream({ autoClose: false })

export const contentAt = (folder: string, file: string): AsyncIterable<Buffer> =>
  createReadStream(path.join(folder, ...file.split('/')))

/** @throws OperatorError when a file of the backup is not what was written */
export async function verify(folder: string, files: readonly BackedUpFile[]): Promise<void> {
  for (const { path: file, sha256 } of files) {
    const hash = createHash('sha256')
    try {
      for await (const piece of contentAt(folder, file)) hash.update(piece)
    } catch (cause) {
      throw new OperatorError(`The backup ${folder} lacks ${file}.`, { cause })
    }
    if (hash.digest('hex') !== sha256) {
      throw new OperatorError(`The backup ${folder} is damaged: ${file} is not what was written.`)
    }
  }
}
