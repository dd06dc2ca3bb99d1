import { type Connection, connect, Session, type Table } from '@lancedb/lancedb'
import { LRUCache } from 'lru-cache'
import type { StoreKey } from '../../queries/vector-stores.ts'
import { createFullTextIndex, hasFullTextIndex } from './full-text.ts'
import { tableSchema } from './table-fields.ts'

/** Where the tables are, for this process and for the one that looks after them. */
export interface RetrievalLocation {
  /** A folder, or an address of object storage such as `s3://bucket/prefix`. */
  readonly uri: string
  /** Memory for parts of indexes, shared by all stores, in bytes. */
  readonly cacheBytes: number
}

/** Memory for what is known of tables and files; their number, not their size, takes it. */
const METADATA_CACHE_BYTES = 64 * 1024 * 1024
/** Tables that stay open. Opening one takes 0.1 ms on a disk and some requests on object storage. */
const OPEN_TABLES = 256

/** Space and store both, so that no store of another space can be named. */
export const tableNameOf = ({ spaceId, vectorStoreId }: StoreKey): string => `${spaceId}_${vectorStoreId}`

/** @returns undefined for a table that is not ours */
export function storeKeyOf(tableName: string): StoreKey | undefined {
  const match = /^([0-9a-f-]{36})_([0-9a-f-]{36})$/.exec(tableName)
  return match === null ? undefined : { spaceId: match[1] as string, vectorStoreId: match[2] as string }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && /was not found|not found|does not exist/i.test(error.message)

/** Opens the connection; every read through it sees what any process has written. */
export const connectTo = ({ uri, cacheBytes }: RetrievalLocation): Promise<Connection> =>
  connect(uri, {
    readConsistencyInterval: 0,
    session: new Session(BigInt(cacheBytes), BigInt(METADATA_CACHE_BYTES)),
  })

/** The tables of all stores, one a store. */
export class Retrieval {
  readonly #db: Connection
  readonly #open = new LRUCache<string, Table>({ max: OPEN_TABLES })

  constructor(db: Connection) {
    this.#db = db
  }

  /** @returns undefined when nothing was ever written to the store */
  async find(key: StoreKey): Promise<Table | undefined> {
    const name = tableNameOf(key)
    const open = this.#open.get(name)
    if (open !== undefined) return open
    try {
      return await this.#ready(name, await this.#db.openTable(name))
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  /** The store's table, which is made by the first write. */
  async findOrCreate(key: StoreKey, dimension: number): Promise<Table> {
    const found = await this.find(key)
    if (found !== undefined) return found
    const name = tableNameOf(key)
    return this.#ready(name, await this.#db.createEmptyTable(name, tableSchema(dimension), { existOk: true }))
  }

  /** A crash, or another process, may have come between the making of a table and of its text index. */
  async #ready(name: string, table: Table): Promise<Table> {
    if (!(await hasFullTextIndex(table))) {
      await createFullTextIndex(table).catch(async (error: unknown) => {
        if (!(await hasFullTextIndex(table))) throw error
      })
    }
    this.#open.set(name, table)
    return table
  }

  /** Deletes all files of a store; there may be none. */
  async drop(key: StoreKey): Promise<void> {
    const name = tableNameOf(key)
    this.#open.delete(name)
    try {
      await this.#db.dropTable(name)
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  }

  /** The stores that have files, in batches. */
  async *storesWithFiles(): AsyncGenerator<StoreKey[]> {
    let startAfter: string | undefined
    for (;;) {
      const names = await this.#db.tableNames({
        limit: 500,
        ...(startAfter === undefined ? {} : { startAfter }),
      })
      startAfter = names.at(-1)
      if (startAfter === undefined) return
      yield names.flatMap((name) => storeKeyOf(name) ?? [])
    }
  }

  close(): void {
    this.#open.clear()
    this.#db.close()
  }
}
