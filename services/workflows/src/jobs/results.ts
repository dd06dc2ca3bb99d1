import type { Job } from '@atrium/kernel/jobs'
import { type RetentionDeps, removeFiles, removeOldResults } from '../domain/results/retention.ts'

/** Removes what runs left once it is old, and files that nothing refers to. */
export const resultsJobs = (deps: RetentionDeps): readonly Job[] => [
  {
    name: 'workflows.remove-old-results',
    cron: '*/10 * * * *',
    run: (_payload, signal) => removeOldResults(deps, signal),
  },
  { name: 'workflows.remove-files', cron: '* * * * *', run: (_payload, signal) => removeFiles(deps, signal) },
]
