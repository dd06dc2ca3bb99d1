import { readFile } from 'node:fs/promises'
import type { MetricPoint, TaskOutput, TaskRef } from '../../src/ports.ts'

const keyOf = ({ runId, attempt, task }: TaskRef): string => `${runId} ${attempt} ${task}`

/** Keeps in memory what tasks leave, as far as tests look at it. */
export class MemoryOutput implements TaskOutput {
  readonly logs = new Map<string, string[]>()
  readonly metrics = new Map<string, MetricPoint[]>()
  readonly artifacts = new Map<string, Map<string, string>>()

  async begin(task: TaskRef): Promise<void> {
    this.metrics.delete(keyOf(task))
    this.artifacts.delete(keyOf(task))
  }

  async appendLog(task: TaskRef, text: string): Promise<void> {
    const pieces = this.logs.get(keyOf(task)) ?? []
    this.logs.set(keyOf(task), pieces)
    pieces.push(text)
  }

  async appendMetrics(task: TaskRef, points: readonly MetricPoint[]): Promise<number> {
    this.metrics.set(keyOf(task), [...(this.metrics.get(keyOf(task)) ?? []), ...points])
    return 0
  }

  async keepArtifact(task: TaskRef, path: string, file: string): Promise<string | undefined> {
    const kept = this.artifacts.get(keyOf(task)) ?? new Map<string, string>()
    this.artifacts.set(keyOf(task), kept.set(path, await readFile(file, 'utf8')))
    return undefined
  }

  logOf = (task: TaskRef): string => (this.logs.get(keyOf(task)) ?? []).join('')
  metricsOf = (task: TaskRef): readonly MetricPoint[] => this.metrics.get(keyOf(task)) ?? []
  artifactsOf = (task: TaskRef): Record<string, string> =>
    Object.fromEntries(this.artifacts.get(keyOf(task)) ?? [])
}
