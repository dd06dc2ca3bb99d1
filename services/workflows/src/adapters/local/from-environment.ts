import { realpath } from 'node:fs/promises'
import { availableParallelism, totalmem } from 'node:os'
import path from 'node:path'
import type { EnvValues } from '@atrium/kernel/config'
import { OperatorError } from '@atrium/kernel/errors'
import type { workflowsEnv } from '../../config.ts'
import { revealArguments, secretsIn } from '../../domain/templates/arguments.ts'
import { findInterpreter } from '../python/interpreter.ts'
import { runPythonCode } from '../python/run-python-code.ts'
import { createLocalEngine, type LocalEngine, type LocalEngineOptions } from './engine.ts'
import type { TaskArguments } from './execute.ts'
import type { TaskLimits } from './limits.ts'
import type { TaskProgram } from './program.ts'

type Env = EnvValues<typeof workflowsEnv>

export interface LocalEngineParts
  extends Pick<LocalEngineOptions, 'db' | 'notifications' | 'log' | 'dataDir' | 'output' | 'secrets'> {
  readonly env: Env
  /** Whether this process does background work. */
  readonly runsJobs: boolean
  /** Those of templates that ask other machines. */
  readonly programs: Readonly<Record<string, TaskProgram>>
}

const FEWEST_SLOTS = 4
const LEAST_MEMORY_MB = 4096

export function limitsOf(env: Env): TaskLimits {
  return {
    seconds: env.ATRIUM_WORKFLOWS_TASK_SECONDS,
    processorSeconds: env.ATRIUM_WORKFLOWS_TASK_PROCESSOR_SECONDS,
    memoryMb:
      env.ATRIUM_WORKFLOWS_TASK_MEMORY_MB ?? Math.max(LEAST_MEMORY_MB, Math.floor(totalmem() / 2 ** 21)),
    processes: env.ATRIUM_WORKFLOWS_TASK_PROCESSES,
    fileMb: env.ATRIUM_WORKFLOWS_TASK_FILE_MB,
    openFiles: env.ATRIUM_WORKFLOWS_TASK_OPEN_FILES,
    workspaceMb: env.ATRIUM_WORKFLOWS_WORKSPACE_MB,
    workspaceFiles: env.ATRIUM_WORKFLOWS_WORKSPACE_FILES,
    spaceMb: env.ATRIUM_WORKFLOWS_DISK_MB_PER_SPACE,
    spaceFiles: env.ATRIUM_WORKFLOWS_FILES_PER_SPACE,
    diskReserveMb: env.ATRIUM_WORKFLOWS_DISK_RESERVE_MB,
  }
}

/** @throws OperatorError naming the entry that is no NAME=value */
export function taskEnvironment(entries: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    entries.map((entry) => {
      const [, name = '', value = ''] = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(entry) ?? []
      if (name === '')
        throw new OperatorError(`ATRIUM_WORKFLOWS_TASK_ENV: ${entry.slice(0, 20)}… is no NAME=value`)
      return [name, value]
    }),
  )
}

/** @throws OperatorError naming the folder that is not there: no task could be confined with it */
async function repositoryFolders(env: Env): Promise<string[]> {
  const missing = (folder: string) => (): never => {
    throw new OperatorError(`ATRIUM_WORKFLOWS_FILE_REPOSITORIES: there is no folder ${folder}`)
  }
  return Promise.all(
    env.ATRIUM_WORKFLOWS_FILE_REPOSITORIES.map((folder) => realpath(folder).catch(missing(folder))),
  )
}

/** Arguments of tasks by the registry of templates. */
export const taskArguments: TaskArguments = {
  secretsOf: (task) => secretsIn(task.arguments),
  fill: (task, secrets) => revealArguments(task.template, task.arguments, secrets),
}

/** The local engine as the environment has it. @throws OperatorError where tasks cannot be confined, or Python is none */
export async function localEngineOf(parts: LocalEngineParts): Promise<LocalEngine> {
  const { env, runsJobs, programs, ...rest } = parts
  const python = await findInterpreter(env.ATRIUM_PYTHON)
  if (python === undefined) rest.log.warn('there is no python3: tasks with run-python-code will fail')
  const locks = path.join(rest.dataDir, 'workflows', 'locks')
  const wanted = env.ATRIUM_WORKFLOWS_TASKS ?? Math.max(FEWEST_SLOTS, 2 * availableParallelism())
  const slots = runsJobs ? wanted : 0
  const caFile = env.ATRIUM_WORKFLOWS_CA_FILE
  return createLocalEngine({
    ...rest,
    arguments: taskArguments,
    programs: new Map([...Object.entries(programs), ['run-python-code', runPythonCode({ python, locks })]]),
    limits: limitsOf(env),
    slots,
    slotsOfSpace: env.ATRIUM_WORKFLOWS_TASKS_PER_SPACE ?? Math.max(1, Math.floor((slots * 3) / 4)),
    environment: taskEnvironment(env.ATRIUM_WORKFLOWS_TASK_ENV),
    readable: [
      ...(python === undefined ? [] : [python.prefix]),
      ...(await repositoryFolders(env)),
      ...(caFile === undefined ? [] : [path.dirname(path.resolve(caFile))]),
    ],
  })
}
