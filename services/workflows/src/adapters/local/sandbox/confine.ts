import { randomUUID } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { TaskLimits } from '../limits.ts'
import type { Cell, Confinement, Launch, Mode } from './confinement.ts'
import { launcherOf } from './launcher.ts'
import { fstabOf, STAGES } from './mounts.ts'
import { INIT, WITH_ENVIRONMENT, WITH_LIMITS } from './scripts.ts'
import { hiddenFolders, isWithin, PROGRAM_PATH, type Tools } from './tools.ts'
import { userOf } from './users.ts'

export interface ConfinementOptions {
  readonly tools: Tools
  /** The platform's data, which tasks are not to see. */
  readonly dataDir: string
  /** Where lists of mounts are written; nobody else writes there. */
  readonly folder: string
  /** What programs need although it may lie in hidden folders. */
  readonly readable: readonly string[]
  /** False where this machine knows one unprivileged user only. */
  readonly aUserASpace: boolean
  /** Own namespaces by one program instead of seven; it must be among the tools. */
  readonly byLauncher: boolean
  /** The launcher lets programs make no user namespaces. */
  readonly isClosed: boolean
}

const WITHOUT_RIGHTS = ['--no-new-privs', '--bounding-set=-all', '--inh-caps=-all']

const asUser = (uid: number): string[] => [
  `--reuid=${uid}`,
  `--regid=${uid}`,
  '--clear-groups',
  ...WITHOUT_RIGHTS,
]

const limitsOf = (limits: TaskLimits, withProcesses: boolean): string[] => [
  // The first limit is a signal that tells what happened; the second kills.
  `--cpu=${limits.processorSeconds}:${limits.processorSeconds + 5}`,
  `--as=${limits.memoryMb * 2 ** 20}`,
  `--fsize=${limits.fileMb * 2 ** 20}`,
  `--nofile=${limits.openFiles}`,
  '--core=0',
  ...(withProcesses ? [`--nproc=${limits.processes}`] : []),
]

/** Names that a shell can have as variables; others are left out. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/** The environment under names that mean nothing to the programs that run before the task's own. */
function hiddenEnvironment(env: Cell['env']): Record<string, string> {
  const entries = Object.entries(env).filter(([name]) => NAME.test(name))
  return Object.fromEntries(entries.map(([name, value]) => [`ATRIUM_TASK_ENV_${name}`, value]))
}

const program = ({ tools: { sh } }: ConfinementOptions, { env, command, args }: Cell): string[] => [
  sh,
  '-c',
  WITH_ENVIRONMENT,
  'sh',
  ...Object.keys(env).filter((name) => NAME.test(name)),
  '--',
  command,
  ...args,
]

function required(tool: string | undefined): string {
  if (tool === undefined) throw new Error('a program that confines others is not there')
  return tool
}

/** The command line of a mode, from the outside in. */
function commandOf(mode: Mode, options: ConfinementOptions, cell: Cell, fstab: string): string[] {
  const { tools } = options
  const { limits, uid, cwd } = cell
  const inner = program(options, cell)
  const prlimit = (withProcesses: boolean): string[] =>
    tools.prlimit === undefined
      ? [
          ...[tools.sh, '-c', WITH_LIMITS, 'sh', String(limits.processorSeconds)],
          ...[String(limits.fileMb * 2048), String(limits.openFiles)],
        ]
      : [tools.prlimit, ...limitsOf(limits, withProcesses)]
  if (mode === 'process group') {
    const dies = tools.setpriv === undefined ? [] : [tools.setpriv, '--pdeathsig=KILL', '--no-new-privs']
    return [...dies, ...prlimit(false), ...inner]
  }
  const setpriv = required(tools.setpriv)
  if (mode === 'own user') {
    return [setpriv, '--pdeathsig=KILL', ...asUser(uid), ...prlimit(true), ...inner]
  }
  const isOwn = mode === 'own namespaces'
  const unshare = required(tools.unshare)
  return [
    ...[setpriv, '--pdeathsig=KILL', '--no-new-privs'],
    ...[unshare, ...(isOwn ? [] : ['--user', '--map-root-user'])],
    ...['--mount', '--pid', '--ipc', '--fork', '--kill-child', '--mount-proc'],
    ...[tools.sh, '-c', INIT, 'sh', required(tools.mount), fstab, isOwn ? '-' : '/', cwd],
    ...prlimit(true),
    ...(isOwn
      ? [setpriv, ...asUser(uid)]
      : [unshare, '--user', `--map-user=${process.getuid?.()}`, `--map-group=${process.getgid?.()}`]),
    ...inner,
  ]
}

const SEES_OTHERS = [
  'tasks see the processes and files of this machine that their user may see',
  'a process that leaves its group is looked for by its environment, and not found when it hides that',
]
const NETWORK = 'the network is not confined: tasks reach what this machine reaches'
const USER_NAMESPACES =
  'tasks may make user namespaces where the kernel lets them, and mount what no limit counts (sysctl user.max_user_namespaces=0)'
const DISK = 'what a task writes is measured, not reserved: a fast writer may pass the limit of its folder'

function about(mode: Mode, { tools, aUserASpace, isClosed }: ConfinementOptions): Confinement['about'] {
  const limits =
    tools.prlimit === undefined
      ? 'limits of processor time, file size and open files'
      : `limits of processor time, address space, file size, open files${mode === 'process group' ? '' : ' and processes'}`
  const user =
    mode === 'own namespaces' || mode === 'own user'
      ? [aUserASpace ? 'an unprivileged user for each space' : 'an unprivileged user for all spaces']
      : []
  const hasNamespaces = mode === 'own namespaces' || mode === 'user namespaces'
  return {
    enforced: [
      'limits of wall time and of a run’s folder',
      limits,
      ...user,
      ...(hasNamespaces
        ? ['own namespaces of processes and mounts: the data folder, homes, /run and /tmp are out of sight']
        : []),
    ],
    open: [
      ...(hasNamespaces ? [] : SEES_OTHERS),
      ...(mode === 'process group'
        ? ['tasks run as the platform’s own user, and without a limit of processes']
        : []),
      ...(isClosed || mode === 'user namespaces' ? [] : [USER_NAMESPACES]),
      ...(tools.prlimit === undefined ? ['address space is not limited'] : []),
      NETWORK,
      DISK,
    ],
  }
}

/** @throws Error when the mode needs a program that is not there */
export async function createConfinement(mode: Mode, options: ConfinementOptions): Promise<Confinement> {
  const hasNamespaces = mode === 'own namespaces' || mode === 'user namespaces'
  const hidden = hasNamespaces ? await hiddenFolders(options.dataDir) : []
  const inUse = [...hidden, ...options.readable, options.dataDir]
  const isFree = (folder: string): boolean =>
    !inUse.some((used) => isWithin(used, folder) || isWithin(folder, used))
  const stage = STAGES.find(isFree) ?? ''
  if (stage === '') throw new Error(`none of ${STAGES.join(', ')} is free to mount on`)
  const hasUsers = mode === 'own namespaces' || mode === 'own user'

  async function launch(cell: Cell): Promise<Launch> {
    const readable = [...options.readable, ...(cell.readable ?? [])]
    const view = { hidden, stage, writable: cell.writable, readable }
    const fstab = path.join(options.folder, `${randomUUID()}.fstab`)
    const hasFstab = hasNamespaces && !options.byLauncher
    if (hasFstab) writeFileSync(fstab, fstabOf(view), { mode: 0o600 })
    const [command = '', ...args] = options.byLauncher
      ? launcherOf(required(options.tools.perl), cell, view, options.isClosed)
      : commandOf(mode, options, cell, fstab)
    return {
      command,
      args,
      env: {
        PATH: PROGRAM_PATH,
        ATRIUM_TASK_MERGES: cell.merges ? '1' : '0',
        ...hiddenEnvironment(cell.env),
      },
      cwd: hasNamespaces ? '/' : cell.cwd,
      close: () => {
        if (hasFstab) rmSync(fstab, { force: true })
      },
    }
  }
  return {
    mode,
    about: about(mode, options),
    endsTogether: hasNamespaces,
    uidOf: (spaceId) => (hasUsers ? userOf(options.aUserASpace ? spaceId : undefined) : undefined),
    launch,
  }
}
