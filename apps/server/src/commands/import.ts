import { OperatorError } from '@atrium/kernel/errors'
import { type ConnectionOptions, connectTo } from '../client/connection.ts'
import { Importer, type ImportSummary } from '../import/importer.ts'
import { Progress } from '../import/progress.ts'
import { Sources } from '../import/sources.ts'
import { openStore } from '../import/vector-store.ts'

/** After Ctrl-C requests under way have so long to end. */
const GRACE_MS = 5000
/** Shorter waits are not worth telling. */
const TOLD_WAIT_MS = 2000
const INTERRUPTED = 130

export interface ImportOptions extends ConnectionOptions {
  readonly store: string
  readonly space?: string
  readonly concurrency: number
  readonly dryRun?: boolean
  readonly json?: boolean
}

/**
 * Imports documents into a vector store. Exit code 1: some failed; 130: it was interrupted.
 * @throws UsageError, OperatorError
 */
export async function importDocuments(
  env: NodeJS.ProcessEnv,
  paths: readonly string[],
  options: ImportOptions,
): Promise<void> {
  const { stop, abort, listen } = interruption()
  let progress: Progress | undefined
  const note = (line: string): void => {
    if (progress === undefined) process.stderr.write(`${line}\n`)
    else progress.note(line)
  }
  const client = connectTo(options, env, {
    signal: abort,
    onRetry: (reason, waitMs) => {
      if (waitMs >= TOLD_WAIT_MS) note(`${reason}; trying again in ${Math.round(waitMs / 1000)} s`)
    },
  })
  const startedMs = performance.now()
  const sources = await Sources.open(paths)
  const store = await openStore(client, options.store, options.space)
  const isDryRun = options.dryRun === true
  const importer = new Importer({
    client,
    store,
    concurrency: options.concurrency,
    isDryRun,
    stop,
    onNote: note,
    onProgress: (position) => progress?.reach(position),
  })
  progress = new Progress(process.stderr, sources.totalBytes, importer.summary)
  listen()
  try {
    await importer.run(sources.read())
  } finally {
    progress.end()
  }
  report(importer.summary, {
    name: store.name,
    seconds: (performance.now() - startedMs) / 1000,
    isStopped: stop.aborted,
    isDryRun,
    isJson: options.json === true,
  })
  if (stop.aborted) process.exitCode = INTERRUPTED
  else if (importer.summary.failed > 0) process.exitCode = 1
}

interface Interruption {
  /** The first Ctrl-C: what is under way ends, nothing more begins. */
  readonly stop: AbortSignal
  /** Requests that did not end in time end now. */
  readonly abort: AbortSignal
  /** Until it is called Ctrl-C ends the process, for nothing has begun. The second one always does. */
  listen(): void
}

function interruption(): Interruption {
  const stop = new AbortController()
  const abort = new AbortController()
  const onSignal = (): void => {
    if (stop.signal.aborted) process.exit(INTERRUPTED)
    process.stderr.write('\nStopping…\n')
    stop.abort()
    setTimeout(() => abort.abort(new OperatorError('Interrupted')), GRACE_MS).unref()
  }
  return {
    stop: stop.signal,
    abort: abort.signal,
    listen() {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal)
    },
  }
}

function report(
  summary: ImportSummary,
  about: { name: string; seconds: number; isStopped: boolean; isDryRun: boolean; isJson: boolean },
): void {
  const { seconds, isStopped, isDryRun, isJson, name } = about
  if (isJson) {
    const rounded = Math.round(seconds * 1000) / 1000
    process.stdout.write(
      `${JSON.stringify({ ...summary, seconds: rounded, stopped: isStopped, dryRun: isDryRun })}\n`,
    )
    return
  }
  const counts = (['imported', 'replaced', 'unchanged', 'empty', 'failed', 'skipped'] as const)
    .filter((what) => summary[what] > 0)
    .map((what) => `${summary[what]} ${what}`)
  const verb = isDryRun ? 'would be stored' : 'stored'
  const removed = summary.deleted > 0 ? `, ${summary.deleted} deleted` : ''
  process.stdout.write(
    `${name}: ${counts.join(', ') || 'nothing to import'}; ${summary.stored} chunks ${verb}${removed} in ${seconds.toFixed(1)} s\n`,
  )
  if (isStopped) process.stdout.write('It was stopped: the same command goes on from here.\n')
}
