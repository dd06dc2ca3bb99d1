import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { OperatorError } from '@atrium/kernel/errors'

export interface Interpreter {
  /** Absolute path of the real program, whatever led to it. */
  readonly executable: string
  /** Folder of its installation: tasks must see it. */
  readonly prefix: string
  readonly version: string
}

const TELL = 'import sys, json; print(json.dumps([sys.executable, sys.base_prefix, sys.version.split()[0]]))'
const ANSWER_MS = 20_000

/**
 * Finds out which Python a command stands for.
 * @param command a path, or a name that is looked for in PATH
 * @returns undefined where a name stands for none
 * @throws OperatorError for a path that is no Python
 */
export async function findInterpreter(command: string): Promise<Interpreter | undefined> {
  try {
    const { stdout } = await promisify(execFile)(command, ['-I', '-c', TELL], { timeout: ANSWER_MS })
    const [executable = '', prefix = '', version = ''] = JSON.parse(stdout) as string[]
    return { executable, prefix, version }
  } catch (cause) {
    if (!command.includes('/')) return undefined
    throw new OperatorError(
      `ATRIUM_PYTHON=${command} is no Python: ${(cause as Error).message.split('\n')[0]}`,
    )
  }
}
