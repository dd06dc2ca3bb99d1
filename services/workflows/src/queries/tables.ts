import type { ColumnType, Generated, GeneratedAlways, Kysely } from '@atrium/kernel/db'

export const STAGES = ['test', 'int', 'e2e', 'prod'] as const
export type Stage = (typeof STAGES)[number]
export const RUN_STATUSES = ['Pending', 'Running', 'Succeeded', 'Failed', 'Cancelling', 'Cancelled'] as const
export type RunStatus = (typeof RUN_STATUSES)[number]
export type TaskStatus = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Skipped' | 'Cancelled'

/** Read as a value, written as its JSON text. */
type Json<T> = ColumnType<T, string, string>
type Timestamps = { created_at: Generated<Date>; updated_at: Generated<Date> }

export interface StoredTask {
  readonly name: string
  readonly templateRef: { readonly name: string; readonly version: string }
  readonly arguments: Readonly<Record<string, string>>
  readonly dependencies: readonly string[]
}

export interface StoredPlannedTask {
  readonly name: string
  readonly template: { readonly name: string; readonly version: string }
  readonly arguments: Readonly<Record<string, string>>
  readonly dependencies: readonly string[]
}

export interface WorkflowsTable extends Timestamps {
  space_id: string
  workflow_id: string
  name: string
  max_parallel_runs: number | null
  row_version: Generated<number>
}

export interface VersionsTable extends Timestamps {
  space_id: string
  workflow_id: string
  version_id: string
  tasks: Json<readonly StoredTask[]>
  row_version: Generated<number>
  size: GeneratedAlways<number>
}

export interface ConfigurationsTable extends Timestamps {
  space_id: string
  workflow_id: string
  configuration_id: string
  data: Json<Readonly<Record<string, string>>>
  row_version: Generated<number>
  size: GeneratedAlways<number>
}

export interface StageAssignmentsTable {
  space_id: string
  workflow_id: string
  stage: Stage
  version_id: string
  configuration_id: string | null
  row_version: Generated<number>
  assigned_at: Generated<Date>
  assigned_by: string | null
}

export interface SecretsTable extends Timestamps {
  space_id: string
  name: string
  sealed: Buffer
  secret_id: GeneratedAlways<string>
  row_version: Generated<number>
  updated_by: string
}

export interface TriggersTable extends Timestamps {
  space_id: string
  workflow_id: string
  trigger_id: string
  type: 'webhook' | 'schedule'
  stage: Stage
  enabled: boolean
  signature_validation: Generated<boolean>
  schedule: string | null
  timezone: Generated<string>
  secret_hash: Buffer | null
  next_at: Date | null
  refusal: Generated<string | null>
  row_version: Generated<number>
}

export interface RunsTable extends Timestamps {
  space_id: string
  workflow_id: string
  run_id: string
  stage: Stage
  version_id: string
  configuration_id: string | null
  resolved_configuration: Json<Readonly<Record<string, string>>>
  plan: Json<readonly StoredPlannedTask[]>
  trigger_id: string | null
  engine: string
  status: RunStatus
  message: Generated<string>
  attempt: Generated<number>
  submitted_attempt: Generated<number>
  created_by: string
  started_at: Date | null
  completed_at: Date | null
  expired_at: Date | null
  results_removed_at: Date | null
  row_version: Generated<number>
}

/** How many runs ended how; kept by triggers of the database. */
export interface RunCountsTable {
  space_id: string
  workflow_id: string
  version_id: string
  stage: Stage
  status: RunStatus
  runs: number
}

export interface LeasesTable {
  name: string
  holder: string
  until: Date
}

export interface RunTasksTable {
  space_id: string
  run_id: string
  name: string
  position: number
  dependencies: readonly string[]
  attempt: Generated<number>
  status: Generated<TaskStatus>
  message: Generated<string>
  started_at: Date | null
  completed_at: Date | null
}

export interface IdempotencyKeysTable {
  space_id: string
  workflow_id: string
  operation: string
  key: string
  request_hash: Buffer
  run_id: string
  created_at: Generated<Date>
}

export interface RunEventsTable {
  space_id: string
  run_id: string
  seq: GeneratedAlways<number>
  at: Generated<Date>
  event: Json<object>
}

export interface RunLogsTable {
  space_id: string
  run_id: string
  seq: GeneratedAlways<number>
  task: string
  attempt: number
  at: Generated<Date>
  /** Bytes of the attempt's log before this piece. */
  start: number
  text: string
}

export interface RunMetricsTable {
  space_id: string
  run_id: string
  task: string
  attempt: number
  seq: number
  name: string
  step: number | null
  value: number
  at: Generated<Date>
}

export interface RunArtifactsTable {
  space_id: string
  run_id: string
  task: string
  path: string
  attempt: number
  blob: string
  size: number
  media_type: string
  sha256: Buffer
  created_at: Generated<Date>
}

export interface ArtifactUseTable {
  space_id: string
  bytes: number
}

export interface BlobsToRemoveTable {
  space_id: string
  blob: string
  not_before: Date
}

export interface LocalRunsTable {
  space_id: string
  run_id: string
  workflow_id: string
  attempt: number
  folder: string
  state: 'Waiting' | 'Open' | 'Ended'
  unfinished: number
  cancel_requested: Generated<boolean>
  created_at: Generated<Date>
}

export interface LocalTasksTable {
  space_id: string
  run_id: string
  name: string
  position: number
  attempt: number
  folder: string
  waiting: number
  dependents: readonly string[]
  spec: Json<StoredPlannedTask>
  status: TaskStatus
  message: Generated<string>
  worker: string | null
  lease_until: Date | null
  starts: Generated<number>
  started_at: Date | null
  completed_at: Date | null
}

/** Every table of the schema `workflows`. */
export interface WorkflowsTables {
  'workflows.workflows': WorkflowsTable
  'workflows.versions': VersionsTable
  'workflows.configurations': ConfigurationsTable
  'workflows.stage_assignments': StageAssignmentsTable
  'workflows.secrets': SecretsTable
  'workflows.triggers': TriggersTable
  'workflows.runs': RunsTable
  'workflows.run_counts': RunCountsTable
  'workflows.run_tasks': RunTasksTable
  'workflows.idempotency_keys': IdempotencyKeysTable
  'workflows.run_events': RunEventsTable
  'workflows.run_logs': RunLogsTable
  'workflows.run_metrics': RunMetricsTable
  'workflows.run_artifacts': RunArtifactsTable
  'workflows.artifact_use': ArtifactUseTable
  'workflows.blobs_to_remove': BlobsToRemoveTable
  'workflows.local_runs': LocalRunsTable
  'workflows.local_tasks': LocalTasksTable
  'workflows.leases': LeasesTable
}

export type WorkflowsDb = Kysely<WorkflowsTables>
