import { randomUUID } from 'node:crypto'
import { connectTo, type RetrievalLocation, unfit } from './retrieval.ts'

/** Writers at once; where writing over a file is not refused, rows of some of them are lost. */
const WRITERS = 4

/**
 * Writes, reads and deletes a small table.
 * @throws OperatorError naming the variable when embeddings cannot be kept there
 */
export async function probeRetrieval(location: RetrievalLocation): Promise<void> {
  const db = await connectTo(location)
  const name = `probe-${randomUUID()}`
  try {
    await db.createTable(name, [{ writer: -1 }])
    try {
      const writers = Array.from({ length: WRITERS }, (_, writer) => writer)
      await Promise.all(writers.map(async (writer) => (await db.openTable(name)).add([{ writer }])))
      const rows = await (await db.openTable(name)).countRows()
      if (rows !== WRITERS + 1) throw new Error('writes at once are lost: it must heed If-None-Match')
    } finally {
      await db.dropTable(name)
    }
  } catch (error) {
    throw unfit(location.uri, error)
  } finally {
    db.close()
  }
}
