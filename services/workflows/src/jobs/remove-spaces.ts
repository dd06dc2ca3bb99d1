import type { Job } from '@atrium/kernel/jobs'
import { type RemovalDeps, removeGoneSpaces } from '../domain/spaces.ts'

/** Removes what deleted spaces leave, once nobody can bring them back any more. */
export const removeSpacesJob = (deps: RemovalDeps): Job => ({
  name: 'workflows.remove-spaces',
  cron: '*/10 * * * *',
  run: (_payload, signal) => removeGoneSpaces(deps, signal),
})
