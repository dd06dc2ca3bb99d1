import type { Table } from '@lancedb/lancedb'
import { tableFromIPC } from 'apache-arrow'

/** What `Table.add` ends in, once it has made a file of what it got. */
interface NativeTable {
  add(file: Buffer, mode: 'append'): Promise<unknown>
}

/** LanceDB keeps it to itself. @returns undefined when this release has no such thing */
export function nativeTable(table: Table): NativeTable | undefined {
  const { inner } = table as unknown as { inner?: Partial<NativeTable> }
  return typeof inner?.add === 'function' ? (inner as NativeTable) : undefined
}

/**
 * Adds the rows of an Arrow IPC file in the table's schema. `Table.add` would take it apart, put it together again and
 * copy it twice, all in the event loop.
 */
export async function addIpcFile(table: Table, file: Uint8Array): Promise<void> {
  const native = nativeTable(table)
  if (native === undefined) await table.add(tableFromIPC(file))
  else await native.add(Buffer.from(file.buffer, file.byteOffset, file.byteLength), 'append')
}
