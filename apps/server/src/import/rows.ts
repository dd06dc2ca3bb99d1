import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { documentOf, MAX_DOCUMENT_BYTES, type SourceItem, type SourceProblem } from './documents.ts'

const ID_FIELDS = ['id', '_id', 'documentId'] as const
const TEXT_FIELDS = ['text', 'content', 'contents', 'chunk'] as const
const LINE_FEED = 0x0a

interface Place {
  readonly origin: string
  readonly position: number
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * A row as a document: `id`, text, `title`, `metadata`; all its other fields become metadata too.
 * @param fallbackId for a row without one
 */
function documentOfRow(row: unknown, place: Place, fallbackId?: string): SourceItem {
  const bad = (reason: string): SourceProblem => ({ kind: 'bad', reason, ...place })
  if (!isRecord(row)) return bad('it is no JSON object')
  const idField = ID_FIELDS.find((field) => row[field] !== undefined && row[field] !== null)
  const textField = TEXT_FIELDS.find((field) => typeof row[field] === 'string')
  const rawId = idField === undefined ? fallbackId : row[idField]
  if (rawId === undefined) return bad(`it has no ${ID_FIELDS.join(', ')}`)
  if (typeof rawId !== 'string' && typeof rawId !== 'number')
    return bad(`its ${idField} is no text or number`)
  if (textField === undefined) return bad(`it has no text in ${TEXT_FIELDS.join(', ')}`)
  const { title, metadata, ...rest } = row
  if (metadata !== undefined && metadata !== null && !isRecord(metadata))
    return bad('its metadata is no object')
  if (idField !== undefined) delete rest[idField]
  delete rest[textField]
  return documentOf(
    {
      id: String(rawId),
      text: String(row[textField]),
      ...(typeof title === 'string' ? { title } : {}),
      // A title stands in the text and can be shown and filtered by.
      metadata: { ...rest, ...(title === undefined || title === null ? {} : { title }), ...metadata },
    },
    place,
  )
}

function parseRow(line: Buffer, place: Place): SourceItem {
  let row: unknown
  try {
    row = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(line))
  } catch (error) {
    const reason = error instanceof SyntaxError ? `it is not JSON: ${error.message}` : 'it is not UTF-8'
    return { kind: 'bad', reason, ...place }
  }
  return documentOfRow(row, place)
}

/** The rows of a file with one JSON object a line. */
export async function* readJsonLines(file: string, name: string, start: number): AsyncGenerator<SourceItem> {
  let number = 0
  for await (const { line, end } of linesOf(file)) {
    number += 1
    const place = { origin: `${name}:${number}`, position: start + end }
    if (line === undefined)
      yield { kind: 'bad', reason: `it is longer than ${MAX_DOCUMENT_BYTES} bytes`, ...place }
    else if (line.some((byte) => byte > 0x20)) yield parseRow(line, place)
  }
}

/** Lines with the place where each ends; `line` is undefined for one that is too long to be held. */
async function* linesOf(file: string): AsyncGenerator<{ line: Buffer | undefined; end: number }> {
  let parts: Buffer[] = []
  let held = 0
  let end = 0
  const take = (): { line: Buffer | undefined; end: number } => {
    const line = held > MAX_DOCUMENT_BYTES ? undefined : Buffer.concat(parts, held)
    parts = []
    held = 0
    return { line, end }
  }
  const hold = (part: Buffer): void => {
    held += part.length
    if (held <= MAX_DOCUMENT_BYTES) parts.push(part)
    else parts = []
  }
  for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 }) as AsyncIterable<Buffer>) {
    let from = 0
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, from)) {
      hold(chunk.subarray(from, at))
      end += at + 1 - from
      from = at + 1
      yield take()
    }
    hold(chunk.subarray(from))
    end += chunk.length - from
  }
  if (held > 0) yield take()
}

/** The rows of a JSON file: one, or a list. One without an id is named after its file. */
export async function* readJson(file: string, name: string, start: number): AsyncGenerator<SourceItem> {
  const bytes = await readFile(file)
  const position = start + bytes.length
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    yield { kind: 'bad', origin: name, reason: `it is not JSON: ${(error as Error).message}`, position }
    return
  }
  if (!Array.isArray(value)) yield documentOfRow(value, { origin: name, position }, name)
  else
    for (const [index, row] of value.entries())
      yield documentOfRow(row, {
        origin: `${name}[${index}]`,
        position: start + Math.round((bytes.length * (index + 1)) / value.length),
      })
}
