import path from 'node:path'
import { createDatabase, createPool } from '@atrium/kernel/db'
import { createLogger } from '@atrium/kernel/log'
import type { TestPlatform } from '@atrium/testing'
import { encodeBatch } from '../src/adapters/encoding/encode-batch.ts'
import { addRows } from '../src/adapters/lancedb/embedding-table.ts'
import { connectTo, Retrieval } from '../src/adapters/lancedb/retrieval.ts'
import { stateOf, type TableState } from '../src/adapters/upkeep/state.ts'
import { UpkeepWorker } from '../src/adapters/upkeep/upkeep-worker.ts'
import { createVocabulary } from '../src/domain/keyword/vocabulary.ts'
import { Upkeep, type UpkeepTiming } from '../src/domain/upkeep.ts'
import type { AgentsTables } from '../src/queries/tables.ts'
import { noteWrite } from '../src/queries/upkeep.ts'
import { type StoreKey, whileStoreLocked } from '../src/queries/vector-stores.ts'
import { bodyOf, DIMENSION, type NewItem } from './retrieval.ts'

/** Where a platform keeps embeddings. */
export const retrievalFolder = (platform: TestPlatform): string => path.join(platform.dataDir, 'retrieval')

/** The parts of one more process on a platform's database and files, without a server. */
export async function engineOf(platform: TestPlatform) {
  const location = { uri: retrievalFolder(platform), cacheBytes: 64 * 1024 * 1024 }
  const log = createLogger({ level: 'silent' })
  const pool = createPool(platform.databaseUrl, { max: 4, applicationName: 'engine', log })
  const db = createDatabase<AgentsTables>(pool)
  const retrieval = new Retrieval(await connectTo(location), location.uri)
  const upkeeps: Upkeep[] = []

  function upkeep(timing: Partial<UpkeepTiming> = {}, worker = new UpkeepWorker(location)): Upkeep {
    const made = new Upkeep({ db, retrieval, vocabulary: createVocabulary(db), worker, log, timing })
    upkeeps.push(made)
    return made
  }

  /** Writes rows as a process would that then tells its upkeep nothing. */
  async function write(key: StoreKey, items: readonly NewItem[]): Promise<readonly string[]> {
    const body = Buffer.from(JSON.stringify(bodyOf(items)))
    const now = new Date()
    const task = { dimension: DIMENSION, language: 'english', createdAt: now.getTime() }
    const batch = encodeBatch({ ...task, body, vectorStoreId: key.vectorStoreId, shownCreatedAt: '' })
    const table = await retrieval.findOrCreate(key, DIMENSION, async (work) => {
      const outcome = await whileStoreLocked(db, key, work)
      if (outcome === undefined) throw new Error('no such store')
      return outcome.done
    })
    await addRows(table, batch.rows)
    await noteWrite(db, key)
    return batch.ids
  }

  /** @throws Error when nothing was written to the store */
  async function state(key: StoreKey): Promise<TableState> {
    const table = await retrieval.find(key)
    if (table === undefined) throw new Error('no table')
    return stateOf(table)
  }

  return {
    location,
    db,
    retrieval,
    upkeep,
    write,
    state,
    async close() {
      for (const one of upkeeps) await one.close()
      retrieval.close()
      await pool.end()
    },
  }
}

export type Engine = Awaited<ReturnType<typeof engineOf>>
