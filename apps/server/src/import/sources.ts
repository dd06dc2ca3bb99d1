import type { Dirent } from 'node:fs'
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import { UsageError } from '../usage-error.ts'
import { documentOf, MAX_DOCUMENT_BYTES, type SourceItem } from './documents.ts'
import { textOfHtml } from './html-text.ts'
import { readJson, readJsonLines } from './rows.ts'

const TEXT = new Set(['.txt', '.md', '.markdown'])
const HTML = new Set(['.html', '.htm'])
const LINES = new Set(['.jsonl', '.ndjson'])
const isKnown = (extension: string): boolean =>
  TEXT.has(extension) || HTML.has(extension) || LINES.has(extension) || extension === '.json'

/** A file to be read. */
interface SourceFile {
  readonly file: string
  /** Its documents' id, or where they are from. */
  readonly name: string
  readonly bytes: number
}

interface Skipped {
  readonly name: string
  readonly reason: string
}

/** What was given on the command line. */
export class Sources {
  readonly #paths: readonly string[]
  /** Of all files that will be read. */
  readonly totalBytes: number

  private constructor(paths: readonly string[], totalBytes: number) {
    this.#paths = paths
    this.totalBytes = totalBytes
  }

  /** @throws UsageError when one of the paths is not there */
  static async open(paths: readonly string[]): Promise<Sources> {
    let total = 0
    for await (const found of filesAt(paths)) if ('file' in found) total += found.bytes
    return new Sources(paths, total)
  }

  /** All documents, one at a time, in the order of the files' names. */
  async *read(): AsyncGenerator<SourceItem> {
    let position = 0
    for await (const found of filesAt(this.#paths)) {
      if ('reason' in found) {
        yield { kind: 'skipped', origin: found.name, reason: found.reason, position }
        continue
      }
      yield* readFileItems(found, position)
      position += found.bytes
    }
  }
}

async function* filesAt(paths: readonly string[]): AsyncGenerator<SourceFile | Skipped> {
  for (const given of paths) {
    const found = await stat(given).catch((cause: unknown) => {
      throw new UsageError(`${given} cannot be read`, { cause })
    })
    if (found.isDirectory()) yield* filesIn(await realpath(given), '')
    else yield { file: given, name: path.basename(given), bytes: found.size }
  }
}

const byName = (a: Dirent, b: Dirent): number => (a.name < b.name ? -1 : 1)

async function* filesIn(root: string, folder: string): AsyncGenerator<SourceFile | Skipped> {
  const entries = await readdir(path.join(root, folder), { withFileTypes: true }).catch(() => undefined)
  if (entries === undefined) yield { name: folder || root, reason: 'a folder that cannot be read' }
  for (const entry of entries?.sort(byName) ?? []) {
    // Hidden ones belong to tools: .git alone would be most of many folders.
    if (entry.name.startsWith('.')) continue
    const name = path.posix.join(folder, entry.name)
    const file = path.join(root, name)
    if (entry.isDirectory()) yield* filesIn(root, name)
    else if (entry.isSymbolicLink()) yield await linkedFile(root, file, name)
    else if (entry.isFile()) yield await knownFile(file, name)
  }
}

async function knownFile(file: string, name: string): Promise<SourceFile | Skipped> {
  const extension = path.extname(name).toLowerCase()
  if (!isKnown(extension)) return { name, reason: 'neither text, Markdown, HTML nor JSON' }
  const found = await stat(file).catch(() => undefined)
  return found === undefined ? { name, reason: 'gone meanwhile' } : { file, name, bytes: found.size }
}

/** Links are followed to files of the folder itself: what lies elsewhere was not given to be imported. */
async function linkedFile(root: string, file: string, name: string): Promise<SourceFile | Skipped> {
  const target = await realpath(file).catch(() => undefined)
  if (target === undefined) return { name, reason: 'a link to nothing' }
  if (!target.startsWith(root + path.sep)) return { name, reason: 'a link out of the folder' }
  if ((await stat(target).catch(() => undefined))?.isDirectory() === true)
    return { name, reason: 'a link to a folder' }
  return knownFile(target, name)
}

async function* readFileItems(source: SourceFile, start: number): AsyncGenerator<SourceItem> {
  const { file, name, bytes } = source
  const extension = path.extname(name).toLowerCase()
  const place = { origin: name, position: start + bytes }
  try {
    if (LINES.has(extension)) {
      yield* readJsonLines(file, name, start)
      return
    }
    if (bytes > MAX_DOCUMENT_BYTES) {
      yield { kind: 'bad', reason: `it is larger than ${MAX_DOCUMENT_BYTES} bytes: split it`, ...place }
      return
    }
    if (extension === '.json') {
      yield* readJson(file, name, start)
      return
    }
    const text = textOf(await readFile(file))
    if (text === undefined) yield { kind: 'skipped', reason: 'a binary file, or not UTF-8', ...place }
    else if (HTML.has(extension)) yield documentOf({ id: name, ...page(text) }, place)
    else yield documentOf({ id: name, text }, place)
  } catch (error) {
    // One file that cannot be read does not stop the others.
    yield { kind: 'bad', reason: `it cannot be read: ${(error as Error).message}`, ...place }
  }
}

function page(html: string): { title?: string; text: string; metadata?: Record<string, unknown> } {
  const { title, text } = textOfHtml(html)
  return title === undefined ? { text } : { title, text, metadata: { title } }
}

/** Undefined: binary. */
function textOf(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
