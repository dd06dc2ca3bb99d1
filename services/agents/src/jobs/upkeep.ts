import type { Job } from '@atrium/kernel/jobs'
import type { Upkeep } from '../domain/upkeep.ts'

/** Ends what a crash broke off, and sees to what nobody has seen to. */
export const upkeepJobs = (upkeep: Upkeep): readonly Job[] => [
  { name: 'agents.sweep-vector-stores', cron: '*/10 * * * *', run: () => upkeep.sweep() },
  { name: 'agents.tidy-vector-stores', cron: '* * * * *', run: (_payload, signal) => upkeep.runDue(signal) },
]
