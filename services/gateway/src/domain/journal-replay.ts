import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Logger } from '@atrium/kernel/log'
import type { UsageRow } from '../ports.ts'
import { type CallLine, journalIdOf, type SeriesLine, seizeSegment } from './journal-segment.ts'
import { UsageSeries } from './usage-series.ts'

/** What replaying needs of the database. */
export interface ReplayStore {
  /**
   * Locks the journal's row, calls `read` with the offset that is already recorded, and records what it
   * gives, all in one transaction.
   */
  replay(
    journalId: string,
    read: (flushedBytes: number) => Promise<{ rows: readonly UsageRow[]; offset: number } | undefined>,
  ): Promise<void>
  forget(journalId: string): Promise<void>
}

/**
 * Charges what dead processes left in their journals, and removes these. Any number of processes may do
 * so at once; each call is charged once.
 * @returns how many journals were taken over
 */
export async function replayJournals(folder: string, store: ReplayStore, log: Logger): Promise<number> {
  const names = await readdir(folder).catch(() => [])
  let taken = 0
  for (const name of names) {
    const journal = journalIdOf(name)
    if (journal === undefined) continue
    const file = path.join(folder, name)
    const segment = seizeSegment(file)
    if (segment === undefined) continue
    try {
      await store.replay(journal, async (flushedBytes) => {
        // Whoever had the row's lock before may have removed the file by now.
        const bytes = await readFile(file).catch(() => undefined)
        return bytes === undefined ? undefined : readSegment(bytes, flushedBytes)
      })
      segment.remove()
    } finally {
      segment.release()
    }
    await store.forget(journal)
    taken += 1
    log.info({ journal }, 'usage of a process that ended early was recorded')
  }
  return taken
}

/** Sums the calls that stand behind `flushedBytes`. A last line without its end, or torn, does not count. */
export function readSegment(bytes: Buffer, flushedBytes: number): { rows: UsageRow[]; offset: number } {
  const series = new Map<number, UsageSeries>()
  let start = 0
  for (let end = bytes.indexOf(0x0a); end !== -1; end = bytes.indexOf(0x0a, start)) {
    readLine(bytes.toString('utf8', start, end), series, start >= flushedBytes)
    start = end + 1
  }
  const rows = [...series.values()].filter((one) => one.requests > 0).map((one) => one.drain())
  return { rows, offset: start }
}

function readLine(text: string, series: Map<number, UsageSeries>, isNew: boolean): void {
  let line: SeriesLine | CallLine
  try {
    line = JSON.parse(text) as SeriesLine | CallLine
  } catch {
    return // Torn by a full disk; the lines after it are whole.
  }
  if (Array.isArray(line)) {
    const [number, promptTokens, completionTokens, cachedTokens, pico, estimated] = line as CallLine
    const usage = { promptTokens, completionTokens, cachedTokens, estimated: estimated === 1 }
    if (isNew) series.get(number)?.add(usage, BigInt(pico))
  } else {
    const announced = line as SeriesLine
    // After a full disk a series is announced again, for nobody knows which lines it took.
    if (!series.has(announced.series)) series.set(announced.series, new UsageSeries(announced))
  }
}
