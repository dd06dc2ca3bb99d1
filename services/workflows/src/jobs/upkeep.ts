import { isUnavailable } from '@atrium/kernel/errors'
import { newId } from '@atrium/kernel/ids'
import { every } from '@atrium/kernel/lifecycle'
import type { WorkflowsContext } from '../context.ts'
import { fireDueSchedules } from '../domain/schedule/fire-due.ts'
import { deleteOldKeys } from '../queries/idempotency-keys.ts'
import { releaseLease, takeLease } from '../queries/leases.ts'

/** Ticks come on full minutes; a run begins at most this much later. */
const LOOK_EVERY_MS = 500
const SWEEP_EVERY_MS = 2000
/** After so long without a sweep another process takes it over. */
const LEASE_MS = 10_000
const LEASE = 'sweep of runs'
const KEYS_AT_A_TIME = 500

/**
 * What goes on as long as the process: every process fires schedules that are due, one of them looks after runs.
 * @returns what ends it, and waits for what is under way
 */
export function runUpkeep(ctx: WorkflowsContext): () => Promise<void> {
  const holder = newId()
  let isStopping = false
  const warn = (what: string) => (err: unknown) => {
    // That the database is away is said once, by who watches it.
    ctx.log[isUnavailable(err) ? 'debug' : 'warn']({ err }, `${what} failed; trying again`)
  }
  const stops = [
    every(LOOK_EVERY_MS, () => fireDueSchedules(ctx, () => isStopping), warn('firing schedules')),
    every(
      SWEEP_EVERY_MS,
      async () => {
        if (!(await takeLease(ctx.db, LEASE, holder, LEASE_MS))) return
        await deleteOldKeys(ctx.db, KEYS_AT_A_TIME)
        await ctx.keeper.sweep()
      },
      warn('looking after runs'),
    ),
  ]
  return async () => {
    isStopping = true
    await Promise.all(stops.map((stop) => stop()))
    await releaseLease(ctx.db, LEASE, holder).catch(warn('leaving runs to others'))
  }
}
