import { type Selectable, sql } from '@atrium/kernel/db'
import type { RunArtifactsTable, WorkflowsDb } from './tables.ts'
import type { TaskKey } from './task-key.ts'

export type ArtifactRow = Selectable<RunArtifactsTable>

export interface NewArtifact {
  readonly path: string
  readonly blob: string
  readonly size: number
  readonly mediaType: string
  readonly sha256: Buffer
}

export interface ArtifactUse {
  readonly files: number
  readonly bytes: number
  /** Of all runs of the space. */
  readonly bytesOfSpace: number
}

/** What a run and its space keep already, this file of this task not counted. */
export async function artifactUse(
  db: WorkflowsDb,
  { spaceId, runId, task }: Omit<TaskKey, 'attempt'>,
  path: string,
): Promise<ArtifactUse> {
  const { rows } = await sql<ArtifactUse>`
    SELECT count(*) FILTER (WHERE NOT is_this) AS files,
           coalesce(sum(size) FILTER (WHERE NOT is_this), 0)::bigint AS bytes,
           (coalesce((SELECT bytes FROM workflows.artifact_use WHERE space_id = ${spaceId}), 0)
             - coalesce(sum(size) FILTER (WHERE is_this), 0))::bigint AS "bytesOfSpace"
      FROM (SELECT size, task = ${task} AND path = ${path} AS is_this FROM workflows.run_artifacts
             WHERE space_id = ${spaceId} AND run_id = ${runId}) AS artifact`.execute(db)
  return rows[0] ?? { files: 0, bytes: 0, bytesOfSpace: 0 }
}

/** Nobody else adds to the space's artifacts until the transaction ends. */
export async function takeTurn(trx: WorkflowsDb, spaceId: string): Promise<void> {
  await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`workflows.artifacts/${spaceId}`}, 0))`.execute(
    trx,
  )
}

/** Notes a file that is about to be written, so that nobody forgets it if nothing comes of it. */
export async function announceBlob(
  db: WorkflowsDb,
  spaceId: string,
  blob: string,
  seconds: number,
): Promise<void> {
  await sql`INSERT INTO workflows.blobs_to_remove (space_id, blob, not_before)
    VALUES (${spaceId}, ${blob}, now() + make_interval(secs => ${seconds}))`.execute(db)
}

/** The file is of no use. */
export async function giveUpBlob(db: WorkflowsDb, blob: string): Promise<void> {
  await sql`UPDATE workflows.blobs_to_remove SET not_before = now() WHERE blob = ${blob}`.execute(db)
}

/** @returns false when it was given up meanwhile */
export async function claimBlob(trx: WorkflowsDb, blob: string): Promise<boolean> {
  const { numAffectedRows } = await sql`DELETE FROM workflows.blobs_to_remove WHERE blob = ${blob}`.execute(
    trx,
  )
  return numAffectedRows === 1n
}

/** Adds an artifact or replaces the one of its path, whose file is then removed. */
export async function upsertArtifact(
  trx: WorkflowsDb,
  { spaceId, runId, task, attempt }: TaskKey,
  { path, blob, size, mediaType, sha256 }: NewArtifact,
): Promise<void> {
  await sql`
    INSERT INTO workflows.run_artifacts (space_id, run_id, task, path, attempt, blob, size, media_type, sha256)
    VALUES (${spaceId}, ${runId}, ${task}, ${path}, ${attempt}, ${blob}, ${size}, ${mediaType}, ${sha256})
    ON CONFLICT (space_id, run_id, task, path) DO UPDATE
       SET attempt = EXCLUDED.attempt, blob = EXCLUDED.blob, size = EXCLUDED.size,
           media_type = EXCLUDED.media_type, sha256 = EXCLUDED.sha256, created_at = now()`.execute(trx)
}

/** What an earlier start of a task left: of this attempt, and of those before it. */
export async function deleteEarlierResults(
  db: WorkflowsDb,
  { spaceId, runId, task, attempt }: TaskKey,
): Promise<void> {
  for (const table of ['run_artifacts', 'run_metrics'] as const) {
    await sql`DELETE FROM ${sql.table(`workflows.${table}`)}
      WHERE space_id = ${spaceId} AND run_id = ${runId} AND task = ${task} AND attempt <= ${attempt}`.execute(
      db,
    )
  }
}

/** At most as many as a run may have. */
export const selectArtifacts = (
  db: WorkflowsDb,
  spaceId: string,
  runId: string,
  task: string | undefined,
): Promise<ArtifactRow[]> =>
  db
    .selectFrom('workflows.run_artifacts')
    .selectAll()
    .where('space_id', '=', spaceId)
    .where('run_id', '=', runId)
    .$if(task !== undefined, (query) => query.where('task', '=', task ?? ''))
    .orderBy('task')
    .orderBy('path')
    .execute()

export const selectArtifact = (
  db: WorkflowsDb,
  { spaceId, runId, task }: Omit<TaskKey, 'attempt'>,
  path: string,
): Promise<ArtifactRow | undefined> =>
  db
    .selectFrom('workflows.run_artifacts')
    .selectAll()
    .where('space_id', '=', spaceId)
    .where('run_id', '=', runId)
    .where('task', '=', task)
    .where('path', '=', path)
    .executeTakeFirst()

/** Files that may be removed now, taken until the transaction ends. */
export async function takeBlobsToRemove(
  trx: WorkflowsDb,
  most: number,
): Promise<{ readonly space_id: string; readonly blob: string }[]> {
  const { rows } = await sql<{ space_id: string; blob: string }>`
    SELECT space_id, blob FROM workflows.blobs_to_remove WHERE not_before <= now()
     ORDER BY not_before LIMIT ${most} FOR UPDATE SKIP LOCKED`.execute(trx)
  return rows
}

export async function forgetBlobs(trx: WorkflowsDb, blobs: readonly string[]): Promise<void> {
  await sql`DELETE FROM workflows.blobs_to_remove WHERE blob = ANY(${[...blobs]}::uuid[])`.execute(trx)
}
