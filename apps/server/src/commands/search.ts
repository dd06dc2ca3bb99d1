import { OperatorError } from '@atrium/kernel/errors'
import { type ConnectionOptions, connectTo } from '../client/connection.ts'
import { Refused } from '../client/platform-client.ts'
import { emphasize, excerptOf } from '../import/excerpt.ts'
import { embed, openStore } from '../import/vector-store.ts'
import { UsageError } from '../usage-error.ts'

const ROUTES = { hybrid: 'hybrid-search', vector: 'search', keyword: 'keyword-search' } as const
export type SearchMode = keyof typeof ROUTES
export const SEARCH_MODES = Object.keys(ROUTES) as readonly SearchMode[]

/** Somebody sits and waits. */
const PATIENCE_MS = 60_000
const BOLD = ['\x1b[1m', '\x1b[22m'] as const
const DIM = ['\x1b[2m', '\x1b[22m'] as const

export interface SearchOptions extends ConnectionOptions {
  readonly store: string
  readonly space?: string
  readonly mode: SearchMode
  readonly limit: number
  readonly filter?: Readonly<Record<string, unknown>>
  readonly json?: boolean
}

interface Found {
  readonly score: number
  readonly chunk?: string | null
  readonly documentId?: string | null
  readonly sequence?: number | null
}

/**
 * Searches a vector store by text and prints the ranking.
 * @throws UsageError, OperatorError
 */
export async function search(env: NodeJS.ProcessEnv, text: string, options: SearchOptions): Promise<void> {
  if (text.trim() === '') throw new UsageError('The text to search for is empty')
  const patience = new AbortController()
  const client = connectTo(options, env, { signal: patience.signal })
  setTimeout(
    () => patience.abort(new OperatorError(`${client.url} gave no answer in ${PATIENCE_MS / 1000} s`)),
    PATIENCE_MS,
  ).unref()
  const store = await openStore(client, options.store, options.space)
  const { mode, limit, filter } = options
  const parts = [
    JSON.stringify({ limit, ...(filter === undefined ? {} : { metadataFilter: filter }) }).slice(1, -1),
  ]
  if (mode !== 'vector') parts.push(`"queryText":${JSON.stringify(text)}`)
  if (mode !== 'keyword') {
    const { vectors, isSandbox } = await embed(client, store, [text])
    if (isSandbox) process.stderr.write('The sandbox made the vector, no real model\n')
    parts.push(`"queryEmbedding":${vectors[0]}`)
  }
  const answer = await client
    .post(`${store.path}/${ROUTES[mode]}`, `{${parts.join(',')}}`)
    .catch((error: unknown) => {
      if (error instanceof Refused && error.status === 400)
        throw new UsageError(error.message, { cause: error })
      throw error
    })
  if (options.json === true) process.stdout.write(`${JSON.stringify(answer.body)}\n`)
  else print((answer.body as { results: readonly Found[] }).results, text)
}

function print(results: readonly Found[], query: string): void {
  const isTerminal = process.stdout.isTTY === true && process.env.NO_COLOR === undefined
  const styled = (text: string, [on, off]: readonly [string, string]): string =>
    isTerminal ? `${on}${text}${off}` : text
  if (results.length === 0) process.stdout.write('Nothing was found.\n')
  const digits = String(results.length).length
  for (const [index, { score, chunk, documentId, sequence }] of results.entries()) {
    const place = `${documentId ?? '-'}#${sequence ?? '-'}`
    process.stdout.write(
      `${String(index + 1).padStart(digits)}. ${score.toFixed(4)}  ${styled(printable(place), BOLD)}\n`,
    )
    const excerpt = printable(excerptOf(chunk ?? '', query))
    const shown = isTerminal ? emphasize(excerpt, query, (word) => styled(word, BOLD)) : excerpt
    process.stdout.write(
      `${' '.repeat(digits + 2)}${isTerminal && excerpt === '' ? styled('no text', DIM) : shown}\n`,
    )
  }
}

/** What a document holds must not steer the terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const printable = (text: string): string => text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
