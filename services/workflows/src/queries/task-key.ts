/** A task in an attempt of its run. */
export interface TaskKey {
  readonly spaceId: string
  readonly runId: string
  readonly attempt: number
  readonly task: string
}
