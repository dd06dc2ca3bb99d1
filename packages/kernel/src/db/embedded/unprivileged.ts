import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { chown, lstat, readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { OperatorError } from '../../errors.ts'

/** `nobody` on Linux: PostgreSQL refuses to run as root, and this uid exists everywhere. */
const UNPRIVILEGED_ID = 65534

/** Starts PostgreSQL's programs; as root they run as an unprivileged user. */
export interface UnprivilegedRunner {
  /** Makes `folder`, with all it holds, the property of the user that the programs run as. */
  own(folder: string): Promise<void>
  spawn(program: string, args: string[], options: SpawnOptions): ChildProcess
}

/** Whether every folder above `target` may be entered by anybody. */
async function isReachable(target: string): Promise<boolean> {
  for (let folder = path.dirname(target); ; folder = path.dirname(folder)) {
    if (((await lstat(folder)).mode & 0o001) === 0) return false
    if (folder === path.dirname(folder)) return true
  }
}

/** The Linux capability that lets another user pass through private folders such as `/root`, if we hold one. */
async function passThroughCapability(): Promise<string | undefined> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '')
  const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? '0'}`)
  if ((effective & (1n << 2n)) !== 0n) return 'dac_read_search'
  return (effective & (1n << 1n)) !== 0n ? 'dac_override' : undefined
}

async function ownAll(target: string): Promise<void> {
  await chown(target, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
  if (!(await lstat(target)).isDirectory()) return
  await Promise.all((await readdir(target)).map((name) => ownAll(path.join(target, name))))
}

/**
 * @param paths what the programs must reach: their binaries and their data
 * @throws OperatorError when we are root and no way leads an unprivileged user to `paths`
 */
export async function createUnprivilegedRunner(paths: string[]): Promise<UnprivilegedRunner> {
  if (process.getuid?.() !== 0) return { own: async () => {}, spawn }

  const reachable = (await Promise.all(paths.map(isReachable))).every(Boolean)
  if (reachable) {
    return {
      own: ownAll,
      spawn: (program, args, options) =>
        spawn(program, args, { ...options, uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID }),
    }
  }
  const capability = await passThroughCapability()
  if (capability === undefined) {
    throw new OperatorError(
      `PostgreSQL may not run as root, and another user cannot enter ${paths.join(' or ')}. Set ATRIUM_DATA_DIR to a folder outside of private folders, start Atrium as another user, or set DATABASE_URL.`,
    )
  }
  const drop = [
    `--reuid=${UNPRIVILEGED_ID}`,
    `--regid=${UNPRIVILEGED_ID}`,
    '--clear-groups',
    `--inh-caps=+${capability}`,
    `--ambient-caps=+${capability}`,
    // Without this bit access(2) ignores ambient capabilities, and initdb probes its programs with it.
    '--securebits=+no_setuid_fixup',
  ]
  return {
    own: ownAll,
    spawn: (program, args, options) => spawn('setpriv', [...drop, program, ...args], options),
  }
}
