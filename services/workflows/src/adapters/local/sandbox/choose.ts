import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chown, mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { OperatorError } from '@atrium/kernel/errors'
import type { Logger } from '@atrium/kernel/log'
import type { TaskLimits } from '../limits.ts'
import { createConfinement } from './confine.ts'
import type { Confinement, Mode } from './confinement.ts'
import { hasLauncher } from './launcher.ts'
import { findTools } from './tools.ts'

const ANSWER_MS = 15_000

/** Ends with 0 if the data are out of sight, the folder can be written to and others' processes are not there. */
const SEES_NOTHING = `
[ ! -e "$1" ] || exit 3
: > "$2/written" || exit 4
! kill -0 "$3" 2>/dev/null || exit 5
(exit 0) || exit 6
[ "$PROBE" = "$4" ] || exit 7
`
const RUNS = `
: > "$2/written" || exit 4
(exit 0) || exit 6
[ "$PROBE" = "$4" ] || exit 7
`

interface Candidate {
  readonly mode: Mode
  readonly aUserASpace: boolean
  readonly byLauncher: boolean
  readonly isClosed: boolean
}

const isRoot = (): boolean => process.getuid?.() === 0

const candidate = (mode: Mode, aUserASpace: boolean, byLauncher = false, isClosed = false): Candidate => ({
  mode,
  aUserASpace,
  byLauncher,
  isClosed,
})

const CANDIDATES_AS_ROOT: readonly Candidate[] = [
  candidate('own namespaces', true, true, true),
  candidate('own namespaces', true, true),
  candidate('own namespaces', true),
  candidate('own namespaces', false, true, true),
  candidate('own namespaces', false, true),
  candidate('own namespaces', false),
  candidate('own user', true),
  candidate('own user', false),
]
const CANDIDATES: readonly Candidate[] = [
  candidate('user namespaces', false),
  candidate('process group', false),
]

/**
 * Finds out how well this machine lets us confine tasks, by trying: the first way that holds what it promises.
 * @param only for tests: this way or none
 * @param byLauncher for tests: with the launcher, or without it
 * @throws OperatorError as root where tasks could only run as root
 */
export async function chooseConfinement(options: {
  dataDir: string
  folder: string
  /** Where it tries: tasks’ own folders lie there. */
  scratch: string
  readable: readonly string[]
  limits: TaskLimits
  log: Logger
  only?: Mode | undefined
  byLauncher?: boolean | undefined
}): Promise<Confinement> {
  const { log, limits, only } = options
  const tools = await findTools()
  const canLaunch = tools.perl !== undefined && hasLauncher()
  const candidates = (isRoot() ? CANDIDATES_AS_ROOT : CANDIDATES).filter(
    ({ mode, byLauncher }) =>
      (only === undefined || mode === only) &&
      (canLaunch || !byLauncher) &&
      (options.byLauncher ?? byLauncher) === byLauncher,
  )
  const reasons: string[] = []
  for (const { mode, aUserASpace, byLauncher, isClosed } of candidates) {
    try {
      const { dataDir, folder, readable } = options
      const confinement = await createConfinement(mode, {
        ...{ tools, dataDir, folder, readable, aUserASpace, byLauncher, isClosed },
      })
      await tryOut(confinement, options.scratch, limits)
      if (reasons.length > 0)
        log.info({ refused: reasons }, 'this machine confines tasks less well than others do')
      return confinement
    } catch (error) {
      reasons.push(
        `${mode}${byLauncher ? ' by perl' : ''}: ${error instanceof Error ? error.message : String(error)}`,
      )
    }
  }
  throw new OperatorError(
    `Tasks of workflows cannot be confined here, and they are not run as root (${reasons.join('; ')}). Start Atrium as another user, give the container CAP_SETUID, CAP_SETGID, CAP_CHOWN and CAP_KILL, or set ATRIUM_DATA_DIR to a folder outside of private folders.`,
  )
}

async function tryOut(confinement: Confinement, folder: string, limits: TaskLimits): Promise<void> {
  const scratch = path.join(folder, `probe-${randomUUID()}`)
  const inside = path.join(scratch, 'inside')
  const canary = path.join(scratch, 'canary')
  await mkdir(inside, { recursive: true })
  try {
    await writeFile(canary, 'not for tasks')
    const uid = confinement.uidOf(randomUUID())
    if (uid !== undefined) await chown(inside, uid, uid)
    const word = 'a "word" of $(several) \'kinds\''
    const launch = await confinement.launch({
      command: '/bin/sh',
      args: [
        '-c',
        confinement.endsTogether ? SEES_NOTHING : RUNS,
        'sh',
        canary,
        inside,
        String(process.pid),
        word,
      ],
      cwd: inside,
      env: { PROBE: word },
      uid: uid ?? 0,
      merges: false,
      writable: [inside],
      limits,
    })
    try {
      await runOnce(launch.command, launch.args, { cwd: launch.cwd, env: launch.env })
    } finally {
      launch.close()
    }
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

function runOnce(
  command: string,
  args: readonly string[],
  options: { cwd: string; env: Readonly<Record<string, string>> },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      ...options,
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: ANSWER_MS,
    })
    let said = ''
    child.stderr.on('data', (bytes: Buffer) => {
      if (said.length < 1000) said += bytes.toString('utf8')
    })
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) resolve()
      else reject(new Error(`ended with ${code}: ${said.trim()}`.slice(0, 300)))
    })
  })
}
