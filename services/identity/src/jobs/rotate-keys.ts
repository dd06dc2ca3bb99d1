import type { MasterKey } from '@atrium/kernel/crypto'
import type { Job } from '@atrium/kernel/jobs'
import type { Logger } from '@atrium/kernel/log'
import { rotateWhenDue } from '../domain/key-rotation.ts'
import type { IdentityDatabase } from '../queries/tables.ts'

/** Looks each night whether the signing key is old enough to be replaced, and removes retired ones. */
export const rotateKeysJob = (deps: {
  db: IdentityDatabase
  masterKey: MasterKey
  days: number
  log: Logger
}): Job => ({
  name: 'identity.rotate-keys',
  cron: '17 3 * * *',
  async run() {
    const rotated = await rotateWhenDue(deps.db, deps.masterKey, deps.days)
    if (rotated) deps.log.info('published a new signing key')
  },
})
