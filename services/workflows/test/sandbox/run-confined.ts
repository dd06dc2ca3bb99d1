// A process of its own, for it may run as another user than the tests: tries a way of confinement with one script.
import { chown, mkdir } from 'node:fs/promises'
import path from 'node:path'
import { createLogger } from '@atrium/kernel/log'
import { readUpTo } from '../../src/adapters/local/log/read-up-to.ts'
import { chooseConfinement } from '../../src/adapters/local/sandbox/choose.ts'
import type { Mode } from '../../src/adapters/local/sandbox/confinement.ts'
import { runProcess } from '../../src/adapters/local/sandbox/run-process.ts'
import { LIMITS } from '../engine/limits.ts'

export interface Trial {
  readonly mode: Mode
  readonly byLauncher: boolean | undefined
  readonly dataDir: string
  readonly script: string
  /** A shell by default. */
  readonly command?: string
  /** Another for each trial. */
  readonly marker: string
  readonly env: Readonly<Record<string, string>>
  readonly limits: Partial<typeof LIMITS>
  readonly timeoutMs: number
  /** Ends it once it has written this word. */
  readonly abortAt?: string
}

export interface Result {
  readonly stdout: string
  readonly stderr: string
  readonly exitCode?: number
  readonly signal?: string
  readonly isTimedOut: boolean
  readonly isAborted: boolean
}

async function run(trial: Trial): Promise<Result> {
  const root = path.join(trial.dataDir, 'workflows')
  const folder = path.join(root, 'sandbox')
  const own = path.join(root, 'own')
  await mkdir(folder, { recursive: true })
  await mkdir(own, { recursive: true })
  const limits = { ...LIMITS, ...trial.limits }
  const confinement = await chooseConfinement({
    dataDir: trial.dataDir,
    folder,
    scratch: root,
    readable: [],
    limits,
    log: createLogger({ level: 'silent' }),
    only: trial.mode,
    byLauncher: trial.byLauncher,
  })
  const uid = confinement.uidOf('0198c5a0-0000-7000-8000-000000000001')
  if (uid !== undefined) await chown(own, uid, uid)
  const abort = new AbortController()
  let stdout = ''
  let stderr = ''
  const end = await runProcess(
    confinement,
    {
      command: trial.command ?? 'sh',
      args: trial.command === undefined ? ['-c', trial.script] : [],
      cwd: own,
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', MARKER: trial.marker, ...trial.env },
      uid: uid ?? 0,
      merges: false,
      writable: [own],
      limits,
    },
    {
      signal: abort.signal,
      timeoutMs: trial.timeoutMs,
      marker: trial.marker,
      onOutput: async (out, errors) => {
        const reading = readUpTo(errors, 1e6).then((text) => {
          stderr = text
        })
        out.on('data', (bytes: Buffer) => {
          stdout = (stdout + bytes.toString('utf8')).slice(0, 1e6)
          if (trial.abortAt !== undefined && stdout.includes(trial.abortAt)) abort.abort()
        })
        await Promise.all([reading, readUpTo(out, 0)])
      },
    },
  )
  return {
    stdout,
    stderr,
    isTimedOut: end.isTimedOut,
    isAborted: abort.signal.aborted,
    ...(end.exitCode === undefined ? {} : { exitCode: end.exitCode }),
    ...(end.signal === undefined ? {} : { signal: end.signal }),
  }
}

process.once('message', (trial: Trial) => {
  run(trial).then(
    (result) => process.send?.({ result }, () => process.disconnect()),
    (error: Error) => process.send?.({ error: error.message }, () => process.disconnect()),
  )
})
