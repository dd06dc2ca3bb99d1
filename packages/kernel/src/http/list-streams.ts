import { Readable } from 'node:stream'
import { readLarge, runAsWork, type TenantWork, turnForPiece, workUnderWay } from '../tenant-work.ts'

/** What is handed to the connection at a time: whoever reads that much now and then is still reading. */
const PIECE_BYTES = 16 * 1024
const STALLED_MS = 30_000

export type Batches<Row> = AsyncIterable<readonly Row[]>

interface Wrapping<Row> {
  readonly present: (row: Row) => unknown
  readonly begin: string
  end(count: number): string
}

/** The batches' texts; each is read and written when it is the tenant's turn. */
async function* written<Row>(
  batches: Batches<Row>,
  { present, begin, end }: Wrapping<Row>,
  work: TenantWork | undefined,
  reader: { readonly isGone: boolean },
): AsyncGenerator<Buffer> {
  const rows = batches[Symbol.asyncIterator]()
  let count = 0
  const next = async (): Promise<Buffer | undefined> => {
    const batch = await rows.next()
    if (batch.done === true) return undefined
    if (batch.value.length === 0) return EMPTY
    const turn = turnForPiece(work)
    if (turn !== undefined) await turn
    // The beginning goes out with the first rows, so that a failure before them is answered as one.
    const text = batch.value.map((row) => JSON.stringify(present(row))).join(',')
    const part = Buffer.from(`${count === 0 ? begin : ','}${text}`)
    count += batch.value.length
    return part
  }
  // The reader's connection asks for the next part, and knows nothing of the request.
  const nextUnlessGone = async () => (reader.isGone ? undefined : next())
  const nextOfWork = work === undefined ? next : () => runAsWork(work, () => readLarge(nextUnlessGone, work))
  try {
    for (let part = await nextOfWork(); part !== undefined; part = await nextOfWork()) {
      if (part.length > 0) yield part
    }
  } finally {
    await rows.return?.()
  }
  yield Buffer.from(`${count === 0 ? begin : ''}${end(count)}`)
}

const EMPTY = Buffer.alloc(0)

/**
 * A stream that asks for no more than its reader takes, and ends when nobody takes anything for a while: a list that
 * is not read costs one batch of memory, and not for ever.
 */
function onDemand(
  partsFor: (reader: { readonly isGone: boolean }) => AsyncIterable<Buffer>,
  stalledMs: number,
): Readable {
  const reader = { isGone: false }
  const parts = partsFor(reader)
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
  stream.once('close', () => {
    reader.isGone = true
  })
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
): Readable =>
  onDemand(
    (reader) => written(batches, { present, begin: '[', end: () => ']' }, workUnderWay(), reader),
    stalledMs,
  )

/** The same as `{"data":[…],"pagination":…}`. @param paginationOf told how many rows were sent */
export const streamPage = <Row>(
  batches: Batches<Row>,
  present: (row: Row) => unknown,
  paginationOf: (count: number) => object,
): Readable => {
  const end = (count: number): string => `],"pagination":${JSON.stringify(paginationOf(count))}}`
  return onDemand(
    (reader) => written(batches, { present, begin: '{"data":[', end }, workUnderWay(), reader),
    STALLED_MS,
  )
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
  return onDemand(
    (reader) =>
      written(batches, { present, begin: `{${JSON.stringify(name)}:[`, end }, workUnderWay(), reader),
    STALLED_MS,
  )
}

/** An event of a stream of server-sent events. */
export interface ServerSentEvent {
  /** What a reader that was cut off sends back as `Last-Event-ID`; one without an id leaves it at the last. */
  readonly id?: string
  readonly event: string
  readonly data: object
}

const RETRY_MS = 2000

async function* writtenEvents(batches: AsyncIterable<readonly ServerSentEvent[]>): AsyncGenerator<Buffer> {
  // Goes out at once, so that the reader knows that it is connected.
  yield Buffer.from(`retry: ${RETRY_MS}\n\n`)
  for await (const batch of batches) {
    const text = batch.map(
      ({ id, event, data }) =>
        `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`,
    )
    yield Buffer.from(text.length === 0 ? ': still here\n\n' : text.join(''))
  }
}

/**
 * Server-sent events as a byte stream. A reader that takes nothing for a while is given up.
 * @param batches an empty one keeps the connection alive
 */
export const streamEvents = (batches: AsyncIterable<readonly ServerSentEvent[]>): Readable =>
  onDemand(() => writtenEvents(batches), STALLED_MS)

/**
 * Bytes as they come, in the same way: nothing is asked of `parts` before the reader takes what there was. How long
 * `parts` themselves take does not count. A reader that goes ends them; those that wait must be told by the caller.
 */
export const streamBytes = (parts: AsyncIterable<Buffer>): Readable => onDemand(() => parts, STALLED_MS)
