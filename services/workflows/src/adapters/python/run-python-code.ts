import path from 'node:path'
import { splitWords } from '../../domain/templates/words.ts'
import { insideWorkspace } from '../local/inside.ts'
import { type ExecResult, type RunningTask, TaskFailure, type TaskProgram } from '../local/program.ts'
import { PROGRAM_PATH } from '../local/sandbox/tools.ts'
import { environmentFor } from './environment.ts'
import type { Interpreter } from './interpreter.ts'

export interface PythonDeps {
  /** Undefined where this machine has no Python. */
  readonly python: Interpreter | undefined
  readonly locks: string
}

/** Template `run-python-code`: a script of the workspace, with what a requirements file lists. */
export const runPythonCode =
  ({ python, locks }: PythonDeps): TaskProgram =>
  async (task) => {
    if (python === undefined)
      throw new TaskFailure('This machine has no python3; the operator can set ATRIUM_PYTHON')
    const { args = '', requirements, workingDirectory = '.', env, timeoutSeconds, image } = task.arguments
    const words = splitWords(args)
    if (words === undefined) throw new TaskFailure('args: a quote has no end')
    const script = await insideWorkspace(task, 'script', task.arguments.script ?? '')
    const cwd = await insideWorkspace(task, 'workingDirectory', workingDirectory)
    if (image !== undefined && image !== '') {
      task.log(
        `The local engine runs Python ${python.version} of this machine and ignores the image ${image}`,
      )
    }
    const hasRequirements = requirements !== undefined && requirements !== ''
    const home = hasRequirements ? await environmentFor(task, requirements, { python, locks }) : undefined
    const own =
      home === undefined ? {} : { VIRTUAL_ENV: home, PATH: `${path.join(home, 'bin')}:${PROGRAM_PATH}` }
    const result = await task.exec(
      home === undefined ? python.executable : path.join(home, 'bin', 'python'),
      [script, ...words],
      {
        cwd,
        ...(home === undefined ? {} : { readable: [home] }),
        env: { PYTHONUNBUFFERED: '1', ...own, ...readEnvironment(env) },
        ...(timeoutSeconds === undefined ? {} : { timeoutSeconds: Number(timeoutSeconds) }),
      },
    )
    if (result.exitCode !== 0 || result.exceeded === 'time') throw new TaskFailure(wordsOf(task, result))
  }

function readEnvironment(json: string | undefined): Record<string, string> {
  if (json === undefined || json === '') return {}
  try {
    return JSON.parse(json) as Record<string, string>
  } catch {
    // The text may hold secrets.
    throw new TaskFailure('env is not a JSON object')
  }
}

function wordsOf({ arguments: { script = '', timeoutSeconds } }: RunningTask, result: ExecResult): string {
  const { exitCode, signal, exceeded, tail } = result
  const end =
    exceeded === 'time'
      ? `${script} took longer than ${timeoutSeconds === undefined ? 'tasks may here' : `${timeoutSeconds} s, or than tasks may here`}`
      : exitCode === undefined
        ? `${script} was ended by ${signal}`
        : `${script} ended with exit code ${exitCode}`
  const limit = exceeded === undefined || exceeded === 'time' ? '' : ` (limit of ${exceeded})`
  return `${end}${limit}${tail === '' ? '' : `\n${tail}`}`
}
