import { isWithin } from './tools.ts'

const field = (text: string): string =>
  text.replace(/[\\ \t\n#]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`)

const line = (source: string, target: string, type: string, options: string): string =>
  `${field(source)} ${field(target)} ${type} ${options} 0 0\n`

const TMPFS = 'nosuid,nodev,mode=755'
/** Temporary files go to the disk by TMPDIR; these are for programs that insist. */
const SHARED_TMPFS = 'nosuid,nodev,mode=1777,size=64m'
const WORLD_WRITABLE = new Set(['/tmp', '/var/tmp', '/dev/shm'])

/** Empty folders on most machines: what must stay in sight waits in one of them while the rest is hidden. */
export const STAGES = ['/mnt', '/media', '/srv', '/opt'] as const

export interface View {
  /** Folders that are covered, none inside another. */
  readonly hidden: readonly string[]
  /** Folders that stay in sight although they lie in hidden ones. */
  readonly writable: readonly string[]
  readonly readable: readonly string[]
  /** One of STAGES that neither holds nor lies in any of these. */
  readonly stage: string
}

/** A mount as the kernel takes it. Where `flags` say that a folder is bound (4096), the target may have to be made. */
export interface Mount {
  readonly source: string
  readonly target: string
  readonly type: string
  readonly flags: number
  readonly data: string
}

const BIND = 4096
const RECURSIVE = 16384
const NO_SUID_NO_DEVICES = 2 | 4
const REMOUNT_READ_ONLY = 32 | 1

interface Shown {
  readonly folder: string
  readonly staged: string
  readonly isReadOnly: boolean
}

/** What stays in sight, and where it waits while the rest is hidden. */
function shownOf({ hidden, writable, readable, stage }: View): Shown[] {
  const isHidden = (folder: string): boolean => hidden.some((outer) => isWithin(folder, outer))
  return [
    ...readable.filter(isHidden).map((folder) => ({ folder, isReadOnly: true })),
    ...writable.map((folder) => ({ folder, isReadOnly: false })),
  ].map((entry, index) => ({ ...entry, staged: `${stage}/${index}` }))
}

/** The mounts of a view, in the order in which they are to be made. */
export function mountsOf(view: View): Mount[] {
  const shown = shownOf(view)
  const empty = (target: string, data: string): Mount => ({
    source: 'atrium',
    target,
    type: 'tmpfs',
    flags: NO_SUID_NO_DEVICES,
    data,
  })
  const bind = (source: string, target: string, flags: number): Mount => ({
    source,
    target,
    type: 'none',
    flags: BIND | flags,
    data: '',
  })
  return [
    empty(view.stage, 'mode=755'),
    ...shown.map(({ folder, staged }) => bind(folder, staged, RECURSIVE)),
    ...view.hidden.map((folder) =>
      empty(folder, WORLD_WRITABLE.has(folder) ? 'mode=1777,size=64m' : 'mode=755'),
    ),
    ...shown.flatMap(({ folder, staged, isReadOnly }) => [
      bind(staged, folder, 0),
      ...(isReadOnly ? [bind(staged, folder, REMOUNT_READ_ONLY)] : []),
    ]),
  ]
}

/** The same for `mount -T`. */
export function fstabOf(view: View): string {
  const shown = shownOf(view)
  return [
    line('atrium', view.stage, 'tmpfs', TMPFS),
    ...shown.map(({ folder, staged }) => line(folder, staged, 'none', 'rbind,x-mount.mkdir')),
    ...view.hidden.map((folder) =>
      line('atrium', folder, 'tmpfs', WORLD_WRITABLE.has(folder) ? SHARED_TMPFS : TMPFS),
    ),
    ...shown.map(({ folder, staged, isReadOnly }) =>
      line(staged, folder, 'none', `${isReadOnly ? 'bind,ro' : 'bind'},x-mount.mkdir`),
    ),
  ].join('')
}
