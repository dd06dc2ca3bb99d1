import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'

/** The beginning of a stream as text; the rest is read and thrown away. */
export async function readUpTo(stream: Readable, most: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  stream.on('data', (bytes: Buffer) => {
    if (size < most) chunks.push(bytes.subarray(0, most - size))
    size += bytes.length
  })
  await finished(stream, { error: false, writable: false }).catch(() => {})
  return Buffer.concat(chunks).toString('utf8')
}
