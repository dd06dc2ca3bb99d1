import { release } from '@atrium/kernel/memory'
import type { Table } from '@lancedb/lancedb'
import { type RecordBatch, Table as Rows, tableFromIPC, tableToIPC } from 'apache-arrow'
import { addIpcFile } from './add-ipc-file.ts'
import { madeDurable } from './durable-files.ts'

/** Additions that go into one commit at most, in bytes. */
const COMMIT_BYTES = 32 * 1024 * 1024
/** From this size on an addition takes longer to write than to commit, and goes beside the others. */
const LARGE_BYTES = 2 * 1024 * 1024

interface Addition {
  readonly rows: Uint8Array
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * This process's small writes to one table, one after another. Commits that cross have to be tried again, which on object
 * storage takes longer than the write; and additions that wait together become one commit.
 */
class WriteQueue {
  readonly #table: Table
  #waiting: Addition[] = []
  #last: Promise<unknown> = Promise.resolve()

  constructor(table: Table) {
    this.#table = table
  }

  async add(rows: Uint8Array): Promise<void> {
    if (rows.length >= LARGE_BYTES) {
      await addIpcFile(this.#table, rows)
      release(rows)
      await madeDurable(this.#table)
      return
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ rows, resolve, reject })
      void this.run(() => this.#commit())
    })
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => {})
    return done
  }

  /** Each addition brings one call of this; those that another commit took along have nothing left to do. */
  async #commit(): Promise<void> {
    const group = this.#nextGroup()
    if (group.length === 0) return
    try {
      await addIpcFile(this.#table, joined(group.map(({ rows }) => rows)))
      await madeDurable(this.#table)
      for (const { rows, resolve } of group) {
        release(rows)
        resolve()
      }
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }

  #nextGroup(): Addition[] {
    let bytes = 0
    let count = 0
    for (const { rows } of this.#waiting) {
      bytes += rows.length
      if (count > 0 && bytes > COMMIT_BYTES) break
      count++
    }
    return this.#waiting.splice(0, count)
  }
}

function joined(files: readonly Uint8Array[]): Uint8Array {
  const [first] = files
  if (first !== undefined && files.length === 1) return first
  return tableToIPC(new Rows(files.flatMap((file): RecordBatch[] => tableFromIPC(file).batches)), 'file')
}

const queues = new WeakMap<Table, WriteQueue>()

function queueOf(table: Table): WriteQueue {
  let queue = queues.get(table)
  if (queue === undefined) {
    queue = new WriteQueue(table)
    queues.set(table, queue)
  }
  return queue
}

/** Adds rows, an Arrow IPC file in the table's schema: all of them or none. */
export const addInTurn = (table: Table, rows: Uint8Array): Promise<void> => queueOf(table).add(rows)

/** Runs another write when those before it are done. */
export const writeInTurn = <T>(table: Table, work: () => Promise<T>): Promise<T> =>
  queueOf(table).run(async () => {
    const done = await work()
    await madeDurable(table)
    return done
  })
