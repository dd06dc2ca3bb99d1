import path from 'node:path'
import type { LocalEngineOptions } from '../../src/adapters/local/engine.ts'
import { TaskFailure, type TaskProgram } from '../../src/adapters/local/program.ts'
import type { PlannedTask } from '../../src/ports.ts'

/** A program of tests: a shell script, its environment and its limits as arguments. Real processes in the real sandbox. */
export const shell: TaskProgram = async (task) => {
  const { script = '', env = '{}', timeoutSeconds } = task.arguments
  const result = await task.exec('sh', ['-c', script], {
    env: JSON.parse(env) as Record<string, string>,
    ...(timeoutSeconds === undefined ? {} : { timeoutSeconds: Number(timeoutSeconds) }),
  })
  if (result.exitCode === 0) return
  const { exitCode, signal, exceeded, tail } = result
  throw new TaskFailure(
    `exit code ${exitCode}, signal ${signal}, exceeded ${exceeded}${tail === '' ? '' : `\n${tail}`}`,
  )
}

export const scriptTask = (
  script: string,
  more: Readonly<Record<string, string>> = {},
): Pick<PlannedTask, 'template' | 'arguments'> => ({
  template: { name: 'shell', version: 'v1.0.0' },
  arguments: { script, ...more },
})

/** Folder of what tasks wait for: they may read it. */
export const signalsIn = (dataDir: string): string => path.join(dataDir, 'signals')

const REFERENCE = /\$\{secret\.([A-Z_]+)\}/g

export const PLAIN_ARGUMENTS: LocalEngineOptions['arguments'] = {
  secretsOf: (task) =>
    Object.values(task.arguments).flatMap((text) =>
      [...text.matchAll(REFERENCE)].map(([, name = '']) => name),
    ),
  fill: (task, secrets) => ({
    arguments: Object.fromEntries(
      Object.entries(task.arguments).map(([name, text]) => [
        name,
        text.replace(REFERENCE, (_all, secret: string) =>
          JSON.stringify(secrets.get(secret) ?? '').slice(1, -1),
        ),
      ]),
    ),
    missing: [],
  }),
}
