import { readLog } from '../workflows/read-log.ts'
import { resolveRun } from '../workflows/runs.ts'
import { printable } from '../workflows/texts.ts'
import { connectToSpace, type WorkflowOptions } from './workflow-connection.ts'

export interface LogsOptions extends WorkflowOptions {
  readonly task?: string
  readonly follow?: boolean
}

/** Prints the log of a run, each line with its task unless one is asked for. @throws UsageError, OperatorError */
export async function showLogs(env: NodeJS.ProcessEnv, text: string, options: LogsOptions): Promise<void> {
  process.stdout.on('error', onStdoutError)
  const space = connectToSpace(options, env)
  const ref = await resolveRun(space, text)
  const { task, follow = false } = options
  for await (const piece of readLog(space, ref, { task, follow })) {
    const lines = printable(piece.text)
    const shown = task === undefined ? lines.replace(/^(?=[^\n]|\n.)/gm, `${piece.task} | `) : lines
    if (!process.stdout.write(shown)) await drained()
  }
}

/** Whoever reads us may be slower than the platform. */
const drained = (): Promise<void> => new Promise((resolve) => process.stdout.once('drain', () => resolve()))

/** Whoever reads us may have seen enough: `… | head`. */
function onStdoutError(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
}
