import { constants } from 'node:fs'
import { access, lstat, realpath } from 'node:fs/promises'
import { homedir, platform } from 'node:os'
import path from 'node:path'

/** Programs of this machine that confine others, by absolute path; undefined where they are not there. */
export interface Tools {
  readonly sh: string
  readonly unshare: string | undefined
  readonly setpriv: string | undefined
  readonly prlimit: string | undefined
  readonly mount: string | undefined
  readonly perl: string | undefined
}

/** Where programs are looked for, ours and those of tasks. */
export const PROGRAM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export async function findProgram(name: string, searched = PROGRAM_PATH): Promise<string | undefined> {
  for (const folder of searched.split(':')) {
    if (!path.isAbsolute(folder)) continue
    const file = path.join(folder, name)
    const found = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (found) return file
  }
  return undefined
}

export async function findTools(): Promise<Tools> {
  const [unshare, setpriv, prlimit, mount, perl] =
    platform() === 'linux'
      ? await Promise.all(['unshare', 'setpriv', 'prlimit', 'mount', 'perl'].map((name) => findProgram(name)))
      : []
  return { sh: '/bin/sh', unshare, setpriv, prlimit, mount, perl }
}

/** Folders that tasks are not to see, none inside another: the platform's data, homes, and where sockets lie. */
export async function hiddenFolders(dataDir: string): Promise<string[]> {
  const wanted = [await privateRootOf(dataDir), homedir(), '/root', '/run', '/tmp', '/var/tmp', '/dev/shm']
  const real = new Set<string>()
  for (const folder of wanted) {
    const target = await realpath(folder).catch(() => undefined)
    if (target !== undefined && target !== '/') real.add(target)
  }
  return [...real].filter((folder) => ![...real].some((other) => isWithin(folder, other) && other !== folder))
}

/** The topmost folder on the way to `folder` that not everybody may enter, else `folder`. */
async function privateRootOf(folder: string): Promise<string> {
  const target = await realpath(folder)
  let top = target
  for (let at = target; at !== '/'; at = path.dirname(at)) {
    if (((await lstat(at)).mode & 0o001) === 0) top = at
  }
  return top
}

export const isWithin = (inner: string, outer: string): boolean =>
  inner === outer || inner.startsWith(outer.endsWith('/') ? outer : `${outer}/`)
