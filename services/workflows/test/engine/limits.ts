import type { TaskLimits } from '../../src/adapters/local/limits.ts'

/** Of tasks in tests. */
export const LIMITS: TaskLimits = {
  seconds: 120,
  processorSeconds: 60,
  memoryMb: 4096,
  processes: 512,
  fileMb: 1024,
  openFiles: 1024,
  workspaceMb: 2048,
  workspaceFiles: 20_000,
  spaceMb: 8192,
  spaceFiles: 1_000_000,
  diskReserveMb: 16,
}
