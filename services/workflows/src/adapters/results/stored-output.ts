import { randomUUID } from 'node:crypto'
import { isForeignKeyViolation } from '@atrium/kernel/db'
import { Semaphore } from '@atrium/kernel/semaphore'
import type { BlobStore } from '../../domain/results/blob-store.ts'
import {
  ARTIFACT_BYTES,
  faultOfPath,
  faultOfUse,
  LOG_BYTES,
  LOG_CUT,
  METRIC_POINTS,
} from '../../domain/results/limits.ts'
import type { MetricPoint, TaskOutput, TaskRef } from '../../ports.ts'
import {
  announceBlob,
  artifactUse,
  claimBlob,
  deleteEarlierResults,
  giveUpBlob,
  type NewArtifact,
  takeTurn,
  upsertArtifact,
} from '../../queries/run-artifacts.ts'
import { appendToLog } from '../../queries/run-logs.ts'
import { insertMetrics } from '../../queries/run-metrics.ts'
import type { WorkflowsDb } from '../../queries/tables.ts'
import { mediaTypeOf } from './media-type.ts'
import { openPlainFile, type PlainFile } from './plain-file.ts'

/** A file that takes longer to write is taken for one that nobody writes any more. */
const WRITING_SECONDS = 3600
const FILES_AT_ONCE = 4

export interface OutputLimits {
  readonly logBytes: number
  readonly metricPoints: number
  /** Of a run. */
  readonly artifactBytes: number
  /** Of all runs of a space. */
  readonly artifactBytesOfSpace: number
}

const LIMITS: OutputLimits = {
  logBytes: LOG_BYTES,
  metricPoints: METRIC_POINTS,
  artifactBytes: ARTIFACT_BYTES,
  artifactBytesOfSpace: Number.POSITIVE_INFINITY,
}

/** Keeps what tasks say: logs and metrics in the database, artifacts in a folder or in object storage. */
export class StoredOutput implements TaskOutput {
  readonly #db: WorkflowsDb
  readonly #blobs: BlobStore
  readonly #limits: OutputLimits
  readonly #files = new Semaphore(FILES_AT_ONCE)

  constructor(db: WorkflowsDb, blobs: BlobStore, limits: Partial<OutputLimits> = {}) {
    this.#db = db
    this.#blobs = blobs
    this.#limits = { ...LIMITS, ...limits }
  }

  async begin(task: TaskRef): Promise<void> {
    await deleteEarlierResults(this.#db, task)
  }

  /** A run that is gone takes its log with it. */
  async appendLog(task: TaskRef, text: string): Promise<void> {
    await unlessGone(
      appendToLog(this.#db, task, text.replaceAll('\0', '\uFFFD'), {
        most: this.#limits.logBytes,
        cut: LOG_CUT,
      }),
    )
  }

  async appendMetrics(task: TaskRef, points: readonly MetricPoint[]): Promise<number> {
    const added = await unlessGone(insertMetrics(this.#db, task, points, this.#limits.metricPoints))
    return points.length - (added ?? 0)
  }

  async keepArtifact(task: TaskRef, path: string, file: string): Promise<string | undefined> {
    const fault = faultOfPath(path)
    if (fault !== undefined) return fault
    return this.#files.run(async () => {
      const opened = await openPlainFile(file)
      if (typeof opened === 'string') return opened
      try {
        return await this.#keep(task, path, opened)
      } finally {
        await opened.close()
      }
    })
  }

  async #keep(task: TaskRef, path: string, file: PlainFile): Promise<string | undefined> {
    const faultNow = async (db: WorkflowsDb): Promise<string | undefined> =>
      faultOfUse(await artifactUse(db, task, path), file.size, {
        ofRun: this.#limits.artifactBytes,
        ofSpace: this.#limits.artifactBytesOfSpace,
      })
    const fault = await faultNow(this.#db)
    if (fault !== undefined) return fault
    const blob = randomUUID()
    const key = { spaceId: task.spaceId, blob }
    await announceBlob(this.#db, task.spaceId, blob, WRITING_SECONDS)
    const { bytes, digest } = file.read()
    try {
      await this.#blobs.put(key, bytes, file.size)
      const artifact = { path, blob, size: file.size, mediaType: mediaTypeOf(path), sha256: digest() }
      const reason = await this.#record(task, artifact, faultNow)
      if (reason !== undefined) await giveUpBlob(this.#db, blob)
      return reason
    } catch (error) {
      bytes.destroy()
      await giveUpBlob(this.#db, blob)
      throw error
    }
  }

  /** @returns why it is not on record */
  async #record(
    task: TaskRef,
    artifact: NewArtifact,
    faultNow: (db: WorkflowsDb) => Promise<string | undefined>,
  ): Promise<string | undefined> {
    try {
      return await this.#db.transaction().execute(async (trx) => {
        await takeTurn(trx, task.spaceId)
        const fault = await faultNow(trx)
        if (fault !== undefined) return fault
        if (!(await claimBlob(trx, artifact.blob))) return 'writing it took too long'
        await upsertArtifact(trx, task, artifact)
        return undefined
      })
    } catch (error) {
      if (isForeignKeyViolation(error)) return 'the run is gone'
      throw error
    }
  }
}

async function unlessGone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (isForeignKeyViolation(error)) return undefined
    throw error
  }
}
