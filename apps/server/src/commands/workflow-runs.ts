import { RunView } from '../workflows/run-view.ts'
import {
  cancelRun,
  durationMs,
  followRun,
  hasEnded,
  listRuns,
  type RunFilter,
  type ShownRun,
  startRun,
} from '../workflows/runs.ts'
import type { SpaceClient } from '../workflows/space-client.ts'
import { columns, durationText } from '../workflows/texts.ts'
import { connectToSpace, type WorkflowOptions } from './workflow-connection.ts'

const INTERRUPTED = 130

export interface RunOptions extends WorkflowOptions {
  readonly stage: string
  readonly version?: string
  readonly configuration?: string
  readonly set?: Readonly<Record<string, string>>
  readonly idempotencyKey?: string
  readonly detach?: boolean
  readonly json?: boolean
}

/**
 * Starts a run and follows it. Exit code 0: it succeeded; 1: it did not; 130: Ctrl-C, which cancels it.
 * @throws UsageError, OperatorError when the platform does not take it
 */
export async function runWorkflow(
  env: NodeJS.ProcessEnv,
  workflowId: string,
  options: RunOptions,
): Promise<void> {
  const view = new RunView(options.json === true ? process.stderr : process.stdout)
  const space = connectToSpace(options, env, { onNote: (line) => view.note(line) })
  const { stage, version, configuration, set, idempotencyKey } = options
  const run = await startRun(space, {
    workflowId,
    stage,
    ...(version === undefined ? {} : { versionId: version }),
    ...(configuration === undefined ? {} : { configurationId: configuration }),
    ...(set === undefined ? {} : { configuration: set }),
    ...(idempotencyKey === undefined ? {} : { key: idempotencyKey }),
  })
  view.note(`Run ${workflowId}/${run.runId} of version ${run.versionId} in ${run.stage}`)
  const last = options.detach === true ? run : await followOrCancel(space, run, view)
  if (options.json === true) process.stdout.write(`${JSON.stringify(last)}\n`)
}

/** Ctrl-C cancels the run and waits for its end; a second one leaves it to itself. */
async function followOrCancel(space: SpaceClient, run: ShownRun, view: RunView): Promise<ShownRun> {
  const interrupted = new AbortController()
  const onSignal = (): void => {
    if (interrupted.signal.aborted) process.exit(INTERRUPTED)
    interrupted.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal)
  const onSeen = (seen: ShownRun): void => view.show(seen)
  let last = await followRun(space, run, { onSeen, stop: interrupted.signal })
  if (interrupted.signal.aborted && !hasEnded(last)) {
    view.note('Cancelling; Ctrl-C again leaves it to itself')
    await cancelRun(space, run)
    last = await followRun(space, run, { onSeen, stop: new AbortController().signal })
  }
  view.end(last)
  if (interrupted.signal.aborted) process.exitCode = INTERRUPTED
  else if (last.status !== 'Succeeded') {
    process.exitCode = 1
    const failed = last.tasks.find(({ status }) => status === 'Failed')
    if (failed !== undefined)
      view.note(`All it said: atrium workflow logs ${run.workflowId}/${run.runId} --task ${failed.name}`)
  }
  return last
}

export interface RunsOptions extends WorkflowOptions {
  readonly limit: number
  readonly status?: string
  readonly stage?: string
  readonly version?: string
  readonly json?: boolean
}

/** Lists the newest runs of a workflow. @throws UsageError, OperatorError */
export async function showRuns(
  env: NodeJS.ProcessEnv,
  workflowId: string,
  options: RunsOptions,
): Promise<void> {
  const space = connectToSpace(options, env)
  const { limit, status, stage, version } = options
  const filter: RunFilter = {
    limit,
    ...(status === undefined ? {} : { status }),
    ...(stage === undefined ? {} : { stage }),
    ...(version === undefined ? {} : { versionId: version }),
  }
  const { runs, total } = await listRuns(space, workflowId, filter)
  if (options.json === true) {
    process.stdout.write(`${JSON.stringify({ runs, total })}\n`)
    return
  }
  const rows = runs.map((run) => {
    const ms = durationMs(run)
    return [
      run.runId,
      run.status,
      run.stage,
      run.versionId,
      run.createdAt,
      ms === undefined ? '' : durationText(ms),
    ]
  })
  process.stdout.write(columns([['RUN', 'STATUS', 'STAGE', 'VERSION', 'CREATED', 'TOOK'], ...rows]))
  if (total > runs.length) process.stdout.write(`${runs.length} of ${total}\n`)
}
