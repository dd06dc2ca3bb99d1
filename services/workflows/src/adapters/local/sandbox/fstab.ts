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

/** The mounts of a view, in the order in which they are to be made. */
export function fstabOf({ hidden, writable, readable, stage }: View): string {
  const isHidden = (folder: string): boolean => hidden.some((outer) => isWithin(folder, outer))
  const shown = [
    ...readable.filter(isHidden).map((folder) => ({ folder, options: 'bind,ro' })),
    ...writable.map((folder) => ({ folder, options: 'bind' })),
  ].map((entry, index) => ({ ...entry, staged: `${stage}/${index}` }))
  return [
    line('atrium', stage, 'tmpfs', TMPFS),
    ...shown.map(({ folder, staged }) => line(folder, staged, 'none', 'rbind,x-mount.mkdir')),
    ...hidden.map((folder) =>
      line('atrium', folder, 'tmpfs', WORLD_WRITABLE.has(folder) ? SHARED_TMPFS : TMPFS),
    ),
    ...shown.map(({ folder, staged, options }) => line(staged, folder, 'none', `${options},x-mount.mkdir`)),
  ].join('')
}
