import type { Job } from '@atrium/kernel/jobs'
import type { Logger } from '@atrium/kernel/log'
import { type KeyRotationDeps, rotateWhenDue } from '../domain/key-rotation.ts'

/** Looks each night whether the signing key is old enough to be replaced, and removes retired ones. */
export const rotateKeysJob = (
  deps: KeyRotationDeps & { readonly days: number; readonly log: Logger },
): Job => ({
  name: 'identity.rotate-keys',
  cron: '17 3 * * *',
  async run() {
    const rotated = await rotateWhenDue(deps, deps.days)
    if (rotated) deps.log.info('published a new signing key')
  },
})
