import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { OperatorError } from '@atrium/kernel/errors'
import type { SpaceClient } from './space-client.ts'

/** Somebody watches the first while; a run of hours need not be asked about twice a second. */
const EARLY_ASK_MS = 500
const LATE_ASK_MS = 2000
const EARLY_MS = 120_000

export interface ShownTask {
  readonly name: string
  readonly status: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Skipped' | 'Cancelled'
  readonly attempt: number
  readonly startedAt: string | null
  readonly completedAt: string | null
  readonly message: string
}

/** A run as the platform shows it, as far as the command line reads it. */
export interface ShownRun {
  readonly workflowId: string
  readonly runId: string
  readonly stage: string
  readonly versionId: string
  readonly configurationId: string | null
  readonly status: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Cancelling' | 'Cancelled'
  readonly message: string
  readonly createdAt: string
  readonly startedAt: string | null
  readonly completedAt: string | null
  readonly tasks: readonly ShownTask[]
}

export interface RunRef {
  readonly workflowId: string
  readonly runId: string
}

export const hasEnded = ({ status }: ShownRun): boolean =>
  status === 'Succeeded' || status === 'Failed' || status === 'Cancelled'

/** Milliseconds between two moments; of what has not begun or ended undefined. */
export const durationMs = ({
  startedAt,
  completedAt,
}: Pick<ShownTask, 'startedAt' | 'completedAt'>): number | undefined =>
  startedAt === null || completedAt === null ? undefined : Date.parse(completedAt) - Date.parse(startedAt)

const runPath = (space: SpaceClient, { workflowId, runId }: RunRef): string =>
  space.workflowPath(workflowId, 'runs', runId)

export interface NewRun {
  readonly workflowId: string
  readonly stage: string
  readonly versionId?: string
  readonly configurationId?: string
  readonly configuration?: Readonly<Record<string, string>>
  /** Two requests with the same key make one run. */
  readonly key?: string
}

/** @throws Refused when the platform does not take it */
export function startRun(space: SpaceClient, wanted: NewRun): Promise<ShownRun> {
  const { workflowId, stage, versionId, configurationId, configuration, key = randomUUID() } = wanted
  const query = new URLSearchParams({ stage, ...(versionId === undefined ? {} : { versionId }) })
  const body = {
    ...(configurationId === undefined ? {} : { configurationId }),
    ...(configuration === undefined ? {} : { configuration }),
  }
  return space.post(
    `${space.workflowPath(workflowId, 'runs')}?${query}`,
    Object.keys(body).length === 0 ? undefined : body,
    key,
  )
}

export const cancelRun = (space: SpaceClient, ref: RunRef): Promise<ShownRun> =>
  space.post(`${runPath(space, ref)}:cancel`, undefined)

/**
 * Looks at a run until it has ended.
 * @param stop ends the looking, not the run
 * @returns the run as it was seen last
 */
export async function followRun(
  space: SpaceClient,
  ref: RunRef,
  options: { onSeen: (run: ShownRun) => void; stop: AbortSignal },
): Promise<ShownRun> {
  const startedMs = performance.now()
  for (;;) {
    const run = await space.get<ShownRun>(runPath(space, ref))
    options.onSeen(run)
    if (hasEnded(run) || options.stop.aborted) return run
    const waitMs = performance.now() - startedMs < EARLY_MS ? EARLY_ASK_MS : LATE_ASK_MS
    await delay(waitMs, undefined, { signal: options.stop }).catch(() => {})
  }
}

const RUN_ID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/**
 * The run that a person means: `workflow/run`, the id of a run alone, or a workflow, whose newest run it is then.
 * @throws OperatorError when there is none
 */
export async function resolveRun(space: SpaceClient, text: string): Promise<RunRef> {
  const [workflowId = '', runId] = text.split('/')
  if (runId !== undefined) return { workflowId, runId }
  if (RUN_ID.test(text)) return findRun(space, text)
  const [newest] = (await listRuns(space, text, { limit: 1 })).runs
  if (newest === undefined) throw new OperatorError(`${text} has no runs`)
  return { workflowId: text, runId: newest.runId }
}

/** Runs are named within their workflow, so each workflow of the space is asked. */
async function findRun(space: SpaceClient, runId: string): Promise<RunRef> {
  const { items } = await space.get<{ items: readonly { workflowId: string }[] }>(space.path('workflows'))
  for (const { workflowId } of items) {
    const run = await space.find(runPath(space, { workflowId, runId }))
    if (run !== undefined) return { workflowId, runId }
  }
  throw new OperatorError(`No workflow of the space has a run ${runId}`)
}

export interface RunFilter {
  readonly limit: number
  readonly status?: string
  readonly stage?: string
  readonly versionId?: string
}

const LARGEST_PAGE = 100

/** The newest runs of a workflow, newest first. */
export async function listRuns(
  space: SpaceClient,
  workflowId: string,
  { limit, ...filter }: RunFilter,
): Promise<{ runs: ShownRun[]; total: number }> {
  const runs: ShownRun[] = []
  let total = 0
  let pageToken = ''
  do {
    const query = new URLSearchParams({
      ...filter,
      pageSize: String(Math.min(LARGEST_PAGE, limit - runs.length)),
      ...(pageToken === '' ? {} : { pageToken }),
    })
    const page = await space.get<{ runs: ShownRun[]; nextPageToken: string; totalSize: number }>(
      `${space.workflowPath(workflowId, 'runs')}?${query}`,
    )
    runs.push(...page.runs)
    total = page.totalSize
    pageToken = page.nextPageToken
  } while (pageToken !== '' && runs.length < limit)
  return { runs, total }
}
