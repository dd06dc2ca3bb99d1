import { realpath } from 'node:fs/promises'
import path from 'node:path'
import { type RunningTask, TaskFailure } from './program.ts'

/**
 * A path of the workspace, links followed.
 * @param given as the tenant wrote it, relative to the workspace
 * @returns absolute
 * @throws TaskFailure when it is not there or leads out of the workspace
 */
export async function insideWorkspace(
  { workspace }: Pick<RunningTask, 'workspace'>,
  argument: string,
  given: string,
): Promise<string> {
  const wanted = path.resolve(workspace, given)
  const isInside = (file: string): boolean => file === workspace || file.startsWith(`${workspace}${path.sep}`)
  const outside = new TaskFailure(`${argument} leads out of the workspace`)
  if (path.isAbsolute(given) || given.includes('\0') || !isInside(wanted)) throw outside
  const real = await realpath(wanted).catch(() => undefined)
  if (real === undefined) throw new TaskFailure(`${argument}: the workspace has no ${given}`)
  if (!isInside(real)) throw outside
  return real
}
