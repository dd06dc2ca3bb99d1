import path from 'node:path'
import { OperatorError } from '@atrium/kernel/errors'
import { type Connection, connect, Session, type Table } from '@lancedb/lancedb'
import { Field, Schema, Utf8 } from 'apache-arrow'
import { LRUCache } from 'lru-cache'
import type { StoreKey } from '../../queries/vector-stores.ts'
import { keepDurable } from './durable-files.ts'
import { createFullTextIndex, hasFullTextIndex } from './full-text-index.ts'
import { ShownRows } from './shown-rows.ts'
import { tableSchema } from './table-fields.ts'
import { TextTails } from './text-tails.ts'

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
/** Memory for rows that searches found, of all stores. */
const ROWS_BYTES = 64 * 1024 * 1024

/** A table's folder; undefined on object storage. */
export const folderOf = (uri: string, tableName: string): string | undefined =>
  uri.includes('://') ? undefined : path.join(uri, `${tableName}.lance`)

/** Beginning of the name of the table that says whose place this is. */
const OWNER = 'owner-'

/** Space and store both, so that no store of another space can be named. */
export const tableNameOf = ({ spaceId, vectorStoreId }: StoreKey): string => `${spaceId}_${vectorStoreId}`

/** @returns undefined for a table that is not ours */
export function storeKeyOf(tableName: string): StoreKey | undefined {
  const match = /^([0-9a-f-]{36})_([0-9a-f-]{36})$/.exec(tableName)
  return match === null ? undefined : { spaceId: match[1] as string, vectorStoreId: match[2] as string }
}

/** Whether there is no such table; a bucket or a file that is missing is another matter. */
const isMissing = (error: unknown): boolean =>
  error instanceof Error && /^Table '[^']*' was not found/.test(error.message)

/** Embeddings cannot be kept there. Engines tell it at length, with the storage's own words in the middle. */
export function unfit(uri: string, error: unknown): OperatorError {
  const text = error instanceof Error ? error.message : String(error)
  const answer = /<Code>([^<]*)<\/Code>\s*<Message>([^<]*)/.exec(text.replaceAll('\\n', ''))
  const reason = answer === null ? text.slice(0, 300) : `${answer[1]}: ${answer[2]}`
  return new OperatorError(`ATRIUM_RETRIEVAL_URI: embeddings cannot be kept in ${uri}: ${reason}`, {
    cause: error,
  })
}

/**
 * Opens the connection; every read through it sees what any process has written.
 * @throws OperatorError when the place cannot be read
 */
export async function connectTo({ uri, cacheBytes }: RetrievalLocation): Promise<Connection> {
  try {
    return await connect(uri, {
      readConsistencyInterval: 0,
      session: new Session(BigInt(cacheBytes), BigInt(METADATA_CACHE_BYTES)),
    })
  } catch (error) {
    throw unfit(uri, error)
  }
}

/** Runs work while no process makes or deletes the store. @throws AppError 404 when it is gone */
export type Alone = <T>(work: () => Promise<T>) => Promise<T>

/** A reader that takes longer is left out of account: the files of its version may go anyway. */
const LONGEST_READ_MS = 600_000

/** The tables of all stores, one a store. */
export class Retrieval {
  readonly #db: Connection
  readonly #uri: string
  readonly #open = new LRUCache<string, Table>({ max: OPEN_TABLES })
  /** What is under way, so that a table is opened or made once and its writes have one queue. */
  readonly #opening = new Map<string, Promise<Table | undefined>>()
  readonly #making = new Map<string, Promise<Table>>()
  readonly #readers = new Readers()
  /** What searches read of the rows that they find. */
  readonly rows = new ShownRows(ROWS_BYTES)
  /** What keyword searches need of rows that are not indexed yet. */
  readonly tails = new TextTails()

  constructor(db: Connection, uri: string) {
    this.#db = db
    this.#uri = uri
  }

  /** @returns undefined when nothing was ever written to the store */
  async find(key: StoreKey): Promise<Table | undefined> {
    const name = tableNameOf(key)
    return this.#open.get(name) ?? once(this.#opening, name, () => this.#find(name))
  }

  /**
   * The store's table, which is made by the first write.
   * @param alone two processes that made it at once could each undo what the other has written to it
   */
  async findOrCreate(key: StoreKey, dimension: number, alone: Alone): Promise<Table> {
    const name = tableNameOf(key)
    return (
      (await this.find(key)) ??
      once(this.#making, name, () =>
        alone(async () => (await this.#find(name)) ?? this.#create(name, dimension)),
      )
    )
  }

  async #find(name: string): Promise<Table | undefined> {
    try {
      return await this.#ready(name, await this.#db.openTable(name))
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  async #create(name: string, dimension: number): Promise<Table> {
    return this.#ready(name, await this.#db.createEmptyTable(name, tableSchema(dimension)))
  }

  /** A crash, or another process, may have come between the making of a table and of its text index. */
  async #ready(name: string, table: Table): Promise<Table> {
    if (!(await hasFullTextIndex(table))) {
      await createFullTextIndex(table).catch(async (error: unknown) => {
        if (!(await hasFullTextIndex(table))) throw error
      })
    }
    const folder = folderOf(this.#uri, name)
    if (folder !== undefined) keepDurable(table, folder)
    this.#open.set(name, table)
    return table
  }

  /**
   * Keeps a store's files for somebody who reads through them, in this process.
   * @returns what ends it, and says whether the files should have been deleted meanwhile
   */
  hold(key: StoreKey): () => boolean {
    return this.#readers.begin(tableNameOf(key))
  }

  /** Deletes all files of a store; there may be none. @returns false, and keeps them, while somebody reads them */
  async drop(key: StoreKey): Promise<boolean> {
    const name = tableNameOf(key)
    this.#open.delete(name)
    if (this.#readers.putOff(name)) return false
    try {
      await this.#db.dropTable(name)
    } catch (error) {
      if (!isMissing(error)) throw error
    }
    return true
  }

  /** Puts an owner's mark to this place, unless there is one. @returns all that are there */
  async owners(mine: string): Promise<string[]> {
    const found = await this.#owners()
    if (found.length > 0) return found
    await this.createMark(mine)
    return this.#owners()
  }

  async createMark(owner: string): Promise<void> {
    const schema = new Schema([new Field('nothing', new Utf8(), true)])
    await this.#db.createEmptyTable(`${OWNER}${owner}`, schema, { existOk: true })
  }

  async #owners(): Promise<string[]> {
    const names = await this.#db.tableNames({ startAfter: OWNER, limit: 10 })
    return names.filter((name) => name.startsWith(OWNER)).map((name) => name.slice(OWNER.length))
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

/** Who reads through which table at the moment. */
class Readers {
  readonly #reading = new Map<string, { since: Set<{ at: number }>; isUnwanted: boolean }>()

  begin(name: string): () => boolean {
    const found = this.#reading.get(name) ?? { since: new Set(), isUnwanted: false }
    this.#reading.set(name, found)
    const mine = { at: Date.now() }
    found.since.add(mine)
    return () => {
      found.since.delete(mine)
      if (found.since.size > 0) return false
      if (this.#reading.get(name) === found) this.#reading.delete(name)
      return found.isUnwanted
    }
  }

  /** @returns whether somebody reads, who will be told */
  putOff(name: string): boolean {
    const found = this.#reading.get(name)
    if (found === undefined) return false
    const oldest = Date.now() - LONGEST_READ_MS
    found.isUnwanted = [...found.since].some(({ at }) => at > oldest)
    return found.isUnwanted
  }
}

async function once<T>(running: Map<string, Promise<T>>, name: string, work: () => Promise<T>): Promise<T> {
  const found = running.get(name)
  if (found !== undefined) return found
  const begun = work().finally(() => running.delete(name))
  running.set(name, begun)
  return begun
}
