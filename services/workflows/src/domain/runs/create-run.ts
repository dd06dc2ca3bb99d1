import type { Act } from '@atrium/access'
import type { AppError } from '@atrium/kernel/errors'
import { newId } from '@atrium/kernel/ids'
import type { WorkflowsContext } from '../../context.ts'
import {
  configurationNotFound,
  engineNotConfigured,
  keyedRunDeleted,
  stageHasNoVersion,
  tooManyRuns,
  unresolvedReferences,
  versionNotFound,
  workflowNotFound,
} from '../../errors.ts'
import {
  type RunPlace,
  selectKnownSecrets,
  selectRunConfigurations,
  selectRunPlace,
  selectRunTasks,
} from '../../queries/run-sources.ts'
import { type FullRunRow, insertRun, selectRun } from '../../queries/runs.ts'
import type { Stage, WorkflowsDb } from '../../queries/tables.ts'
import { progressOf } from '../run-states.ts'
import { type Persisted, type Resolved, resolveConfiguration } from './configuration.ts'
import { claimOnce, type OnceOnly } from './idempotency.ts'
import { type Plan, planTasks, secretsOf } from './plan.ts'

type Ctx = Pick<WorkflowsContext, 'db' | 'audit' | 'engine' | 'keeper' | 'env'>

export interface RunRequest {
  readonly spaceId: string
  readonly workflowId: string
  readonly stage: Stage
  /** The stage's when absent. */
  readonly versionId?: string | undefined
  /** Values of this run alone. */
  readonly configuration?: Readonly<Record<string, string>> | undefined
  /** A configuration that goes before the stage's. */
  readonly configurationId?: string | undefined
  readonly triggerId?: string | undefined
}

/** Who wants the run: what the audit log says of it, and the run itself. */
export interface Originator {
  readonly act: Act
  readonly createdBy: string
  /** What is answered where the stage has no version; 404 by default. */
  readonly noVersion?: (stage: Stage) => AppError
}

/** Makes a run within a transaction; the caller hands it to the engine once that has committed. */
export interface MadeRun {
  readonly runId: string
  readonly workflowId: string
  readonly spaceId: string
  readonly tasks: Plan['tasks']
}

async function configurationOf(trx: WorkflowsDb, request: RunRequest, place: RunPlace): Promise<Resolved> {
  const { spaceId, workflowId, configurationId, configuration = {} } = request
  const ids = [configurationId, place.configuration_id].filter((id) => typeof id === 'string')
  const known = await selectRunConfigurations(trx, spaceId, workflowId, [...new Set(ids)])
  if (configurationId !== undefined && !known.has(configurationId))
    throw configurationNotFound(configurationId)
  const persisted = (id: string | null | undefined): Persisted | undefined => {
    const data = known.get(id ?? '')
    return data === undefined ? undefined : { configurationId: id ?? '', data }
  }
  const bound = place.configuration_id === configurationId ? undefined : persisted(place.configuration_id)
  return resolveConfiguration(configuration, persisted(configurationId), bound)
}

async function demandSecrets(trx: WorkflowsDb, spaceId: string, tasks: Plan['tasks']): Promise<void> {
  const wanted = secretsOf(tasks)
  const known = await selectKnownSecrets(trx, spaceId, [...wanted.keys()])
  const missing = [...wanted].filter(([name]) => !known.has(name))
  if (missing.length === 0) return
  throw unresolvedReferences(
    missing.map(([name, task]) => `Task ${task}: \${secret.${name}} names no secret of this space`),
  )
}

/**
 * Makes a run of a version as it stands now, with everything that it needs resolved.
 * @throws AppError 404, 422 naming what is not resolved, 429 when the space has too many runs under way, 503
 */
export async function makeRun(
  ctx: Ctx,
  trx: WorkflowsDb,
  request: RunRequest,
  { act, createdBy, noVersion = stageHasNoVersion }: Originator,
  runId = newId(),
): Promise<MadeRun> {
  const { spaceId, workflowId, stage } = request
  const most = ctx.env.ATRIUM_WORKFLOWS_ACTIVE_RUNS
  const place = await selectRunPlace(trx, spaceId, workflowId, stage, most)
  if (place === undefined) throw workflowNotFound(workflowId)
  if (ctx.engine === undefined) throw engineNotConfigured()
  const versionId = request.versionId ?? place.version_id
  if (versionId === null) throw noVersion(stage)
  const stored = await selectRunTasks(trx, spaceId, workflowId, versionId)
  if (stored === undefined) throw versionNotFound(versionId)
  const resolved = await configurationOf(trx, request, place)
  const { tasks, faults } = planTasks(stored, resolved.data)
  if (faults.length > 0) throw unresolvedReferences(faults)
  await demandSecrets(trx, spaceId, tasks)
  if (place.is_full) throw tooManyRuns(most)
  const states = tasks.map(({ name }) => ({ name, status: 'Pending' as const, message: '' }))
  const triggerId = request.triggerId ?? null
  await insertRun(trx, {
    ...{ spaceId, workflowId, runId, stage, versionId, triggerId, createdBy },
    configurationId: resolved.configurationId,
    resolvedConfiguration: resolved.data,
    plan: tasks,
    engine: ctx.engine.name,
    message: progressOf('Pending', states),
  })
  await ctx.audit.record(trx, act, {
    spaceId,
    resourceType: 'run',
    resourceId: runId,
    after: { workflowId, stage, versionId, configurationId: resolved.configurationId, triggerId },
  })
  return { runId, workflowId, spaceId, tasks }
}

/** The run as it is on record. */
export async function recordedRun(
  { db }: Pick<Ctx, 'db'>,
  path: { readonly spaceId: string; readonly workflowId: string; readonly runId: string },
): Promise<FullRunRow> {
  const row = await selectRun(db, path)
  if (row === undefined) throw workflowNotFound(path.workflowId)
  return row
}

/**
 * Makes a run and hands it to the engine. A request with a key makes one run, however often it comes.
 * @throws what `makeRun` throws, and AppError 409 when the key stands for another request, or for a run that was deleted
 */
export async function createRun(
  ctx: Ctx,
  request: RunRequest,
  by: Originator,
  key: string | undefined,
): Promise<FullRunRow> {
  const { spaceId, workflowId, stage, versionId, configuration, configurationId } = request
  const path = { spaceId, workflowId, runId: newId() }
  const asked = { stage, versionId, configuration, configurationId }
  const once: OnceOnly | undefined =
    key === undefined ? undefined : { operation: 'createRun', key, request: asked }
  const made = await ctx.db.transaction().execute(async (trx) => {
    const known = once === undefined ? undefined : await claimOnce(trx, path, once)
    return known ?? (await makeRun(ctx, trx, request, by, path.runId))
  })
  if (typeof made === 'string') {
    const first = await selectRun(ctx.db, { ...path, runId: made })
    if (first === undefined) throw keyedRunDeleted(made)
    return first
  }
  const row = await recordedRun(ctx, path)
  ctx.keeper.begin(made)
  return row
}
