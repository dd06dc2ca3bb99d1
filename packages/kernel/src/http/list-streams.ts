import { Readable } from 'node:stream'

/** What is handed to the connection at a time: whoever reads that much now and then is still reading. */
const PIECE_BYTES = 16 * 1024
const STALLED_MS = 30_000

export type Batches<Row> = AsyncIterable<readonly Row[]>

interface Wrapping<Row> {
  readonly present: (row: Row) => unknown
  readonly begin: string
  end(count: number): string
}

async function* written<Row>(
  batches: Batches<Row>,
  { present, begin, end }: Wrapping<Row>,
): AsyncGenerator<Buffer> {
  let count = 0
  for await (const batch of batches) {
    if (batch.length === 0) continue
    // The beginning goes out with the first rows, so that a failure before them is answered as one.
    const text = batch.map((row) => JSON.stringify(present(row))).join(',')
    yield Buffer.from(`${count === 0 ? begin : ','}${text}`)
    count += batch.length
  }
  yield Buffer.from(`${count === 0 ? begin : ''}${end(count)}`)
}

/**
 * A stream that asks for no more than its reader takes, and ends when nobody takes anything for a while: a list that
 * is not read costs one batch of memory, and not for ever.
 */
function onDemand(parts: AsyncIterable<Buffer>, stalledMs: number): Readable {
  let timer: NodeJS.Timeout | undefined
  const giveUp = (): void => void stream.destroy(new Error(`the list was not read for ${stalledMs} ms`))
  async function* pieces(): AsyncGenerator<Buffer> {
    try {
      for await (const part of parts) {
        for (let at = 0; at < part.length; at += PIECE_BYTES) {
          timer = setTimeout(giveUp, stalledMs)
          yield part.subarray(at, at + PIECE_BYTES)
          clearTimeout(timer)
        }
      }
    } finally {
      clearTimeout(timer)
    }
  }
  // Without a mark of its own a stream reads one part ahead.
  const stream = Readable.from(pieces(), { objectMode: false, highWaterMark: 0 })
  return stream
}

/**
 * A JSON array as a byte stream, batch by batch, so that memory stays flat whatever the list's length.
 * @param options.stalledMs after which a reader that takes nothing is given up (30 s)
 */
export const streamArray = <Row>(
  batches: Batches<Row>,
  present: (row: Row) => unknown,
  { stalledMs = STALLED_MS }: { stalledMs?: number } = {},
): Readable => onDemand(written(batches, { present, begin: '[', end: () => ']' }), stalledMs)

/** The same as `{"data":[…],"pagination":…}`. @param paginationOf told how many rows were sent */
export const streamPage = <Row>(
  batches: Batches<Row>,
  present: (row: Row) => unknown,
  paginationOf: (count: number) => object,
): Readable => {
  const end = (count: number): string => `],"pagination":${JSON.stringify(paginationOf(count))}}`
  return onDemand(written(batches, { present, begin: '{"data":[', end }), STALLED_MS)
}

/** The same as `{"<name>":[…],…}`. @param others fields of the object beside the list, known before it is read */
export const streamObject = <Row>(
  name: string,
  batches: Batches<Row>,
  present: (row: Row) => unknown,
  others: object,
): Readable => {
  const rest = JSON.stringify(others).slice(1)
  const end = (): string => (rest === '}' ? ']}' : `],${rest}`)
  return onDemand(written(batches, { present, begin: `{${JSON.stringify(name)}:[`, end }), STALLED_MS)
}
