import { readFile } from 'node:fs/promises'
import path from 'node:path'

/** A test collection: texts, queries, and which texts answer which query. */
export interface Collection {
  readonly name: string
  readonly documents: ReadonlyMap<string, string>
  readonly queries: ReadonlyMap<string, string>
  readonly relevant: ReadonlyMap<string, ReadonlySet<string>>
}

const lines = async (file: string): Promise<string[]> =>
  (await readFile(file, 'utf8')).split('\n').filter((line) => line.trim() !== '')

async function judgements(
  rows: readonly string[],
  read: (fields: string[]) => [query: string, document: string, grade: string],
): Promise<Map<string, Set<string>>> {
  const relevant = new Map<string, Set<string>>()
  for (const row of rows) {
    const [query, document, grade] = read(row.trim().split(/\s+/))
    if (!(Number(grade) > 0)) continue
    relevant.set(query, (relevant.get(query) ?? new Set()).add(document))
  }
  return relevant
}

const textOf = ({ title = '', text = '' }: { title?: string; text?: string }): string =>
  `${title} ${text}`.trim()

/** BEIR's form, with queries and judgements as BEIR has them or as TREC does. */
async function beir(folder: string): Promise<Omit<Collection, 'name'>> {
  const documents = new Map<string, string>()
  for (const line of await lines(path.join(folder, 'corpus.jsonl'))) {
    const document = JSON.parse(line) as { _id: string; title?: string; text?: string }
    documents.set(document._id, textOf(document))
  }
  const asTrec = await lines(path.join(folder, 'topics.test.tsv')).catch(() => undefined)
  if (asTrec !== undefined) {
    return {
      documents,
      queries: new Map(asTrec.map((line) => line.split('\t') as [string, string])),
      relevant: await judgements(
        await lines(path.join(folder, 'qrels.test.trec.txt')),
        ([query = '', , document = '', grade = '']) => [query, document, grade],
      ),
    }
  }
  const relevant = await judgements(
    (await lines(path.join(folder, 'qrels/test.tsv'))).slice(1),
    ([query = '', document = '', grade = '']) => [query, document, grade],
  )
  const queries = (await lines(path.join(folder, 'queries.jsonl')))
    .map((line) => JSON.parse(line) as { _id: string; text: string })
    .filter(({ _id }) => relevant.has(_id))
  return { documents, queries: new Map(queries.map(({ _id, text }) => [_id, text])), relevant }
}

const flat = (text: string): string => text.replace(/\s+/g, ' ').trim()

/** The Cranfield files: judgements name queries by their place, not by their number. */
async function cranfield(folder: string): Promise<Omit<Collection, 'name'>> {
  const parts = async (file: string) =>
    (await readFile(path.join(folder, file), 'utf8')).split(/^\.I /m).slice(1)
  const documents = (await parts('cran.all.1400')).map((part): [string, string] => {
    const title = /^\.T\n([\s\S]*?)^\.A/m.exec(part)?.[1] ?? ''
    const text = /^\.W\n([\s\S]*)/m.exec(part)?.[1] ?? ''
    return [part.slice(0, part.indexOf('\n')).trim(), flat(`${title} ${text}`)]
  })
  const queries = (await parts('cran.qry')).map((part, i): [string, string] => [
    String(i + 1),
    flat(part.slice(part.indexOf('.W') + 2)),
  ])
  const relevant = await judgements(
    await lines(path.join(folder, 'cranqrel')),
    ([query = '', document = '']) => [query, document, '1'],
  )
  return { documents: new Map(documents), queries: new Map(queries), relevant }
}

/** @returns undefined when the folder holds no collection of a form that is known */
export async function readCollection(folder: string): Promise<Collection | undefined> {
  const name = path.basename(folder)
  for (const read of [beir, cranfield]) {
    const found = await read(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
      throw error
    })
    if (found !== undefined) return { name, ...found }
  }
  return undefined
}

/** Vectors of a collection's documents and queries, as `embed.py` writes them. */
export interface Vectors {
  readonly documents: ReadonlyMap<string, readonly number[]>
  readonly queries: ReadonlyMap<string, readonly number[]>
}

async function readVectors(base: string, dimension: number): Promise<Map<string, number[]>> {
  const bytes = await readFile(`${base}.f32`)
  const ids = JSON.parse(await readFile(`${base}.json`, 'utf8')) as string[]
  const numbers = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength))
  const length = numbers.length / ids.length
  // Zeros at the end change no cosine.
  const padding = new Array<number>(dimension - length).fill(0)
  return new Map(ids.map((id, i) => [id, [...numbers.subarray(i * length, (i + 1) * length), ...padding]]))
}

/** @returns undefined when there are none for this collection */
export async function vectorsOf(
  folder: string | undefined,
  name: string,
  dimension: number,
): Promise<Vectors | undefined> {
  if (folder === undefined) return undefined
  try {
    return {
      documents: await readVectors(path.join(folder, `${name}.documents`), dimension),
      queries: await readVectors(path.join(folder, `${name}.queries`), dimension),
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
