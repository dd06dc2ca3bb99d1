import type { Job } from '@atrium/kernel/jobs'
import { removeDeletedSpaces } from '../domain/deleted-spaces.ts'
import type { PortalDb } from '../queries/tables.ts'

/** Removes what deleted spaces leave, once nobody can bring them back any more. */
export const removeSpacesJob = (db: PortalDb): Job => ({
  name: 'portal.remove-spaces',
  cron: '*/10 * * * *',
  run: (_payload, signal) => removeDeletedSpaces(db, signal),
})
