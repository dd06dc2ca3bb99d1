/** What one task may take of this machine. */
export interface TaskLimits {
  /** Seconds of wall time. */
  readonly seconds: number
  /** Seconds of processor time of one process. */
  readonly processorSeconds: number
  /** MiB of address space of one process. */
  readonly memoryMb: number
  /** Processes and threads; of all tasks of a space together where each space has a user of its own. */
  readonly processes: number
  /** MiB of one file. */
  readonly fileMb: number
  readonly openFiles: number
  /** MiB that the folder of a run may take. */
  readonly workspaceMb: number
  /** Files, folders and links that it may hold. */
  readonly workspaceFiles: number
  /** MiB of all folders of a space's runs, and of its cache. */
  readonly spaceMb: number
  /** Files, folders and links in them. */
  readonly spaceFiles: number
  /** MiB of the disk that tasks leave free. */
  readonly diskReserveMb: number
}
