import type { Readable } from 'node:stream'
import { artifactNotFound } from '../../errors.ts'
import { type ArtifactRow, selectArtifact, selectArtifacts } from '../../queries/run-artifacts.ts'
import type { RunAddress } from '../../queries/run-results.ts'
import type { WorkflowsDb } from '../../queries/tables.ts'
import type { BlobStore } from './blob-store.ts'
import { demandRun } from './logs.ts'

export interface ArtifactDeps {
  readonly db: WorkflowsDb
  readonly blobs: BlobStore
}

/** @throws AppError 404 when there is no such run or task */
export async function listArtifacts(
  { db }: Pick<ArtifactDeps, 'db'>,
  run: RunAddress,
  task: string | undefined,
): Promise<ArtifactRow[]> {
  await demandRun(db, run, task)
  return selectArtifacts(db, run.spaceId, run.runId, task)
}

/** @throws AppError 404 when there is no such run, task or artifact */
export async function getArtifact(
  { db }: Pick<ArtifactDeps, 'db'>,
  run: RunAddress,
  task: string,
  path: string,
): Promise<ArtifactRow> {
  await demandRun(db, run, task)
  const row = await selectArtifact(db, { ...run, task }, path)
  if (row === undefined) throw artifactNotFound(path)
  return row
}

/** The bytes of an artifact. @throws AppError 404 when they are gone */
export async function openArtifact(
  { blobs }: Pick<ArtifactDeps, 'blobs'>,
  { space_id: spaceId, blob, path }: ArtifactRow,
): Promise<Readable> {
  const bytes = await blobs.read({ spaceId, blob })
  if (bytes === undefined) throw artifactNotFound(path)
  return bytes
}
