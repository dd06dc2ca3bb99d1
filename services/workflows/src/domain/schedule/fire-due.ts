import { systemAct } from '@atrium/access'
import { AppError, isUnavailable } from '@atrium/kernel/errors'
import type { WorkflowsContext } from '../../context.ts'
import type { WorkflowsDb } from '../../queries/tables.ts'
import { type DueTrigger, lockDueTrigger, setNextTick, setRefusal } from '../../queries/triggers.ts'
import { type MadeRun, makeRun } from '../runs/create-run.ts'
import { dueTick } from './cron.ts'

type Ctx = Pick<WorkflowsContext, 'db' | 'audit' | 'engine' | 'keeper' | 'env' | 'log' | 'spaces'>

const ACT = systemAct('runSchedule')

/** Ticks that nobody took are made up for when they are no older. */
const GRACE_MS = 5 * 60_000

const pathOf = ({ space_id: spaceId, workflow_id: workflowId, trigger_id: triggerId }: DueTrigger) => ({
  spaceId,
  workflowId,
  triggerId,
})

const tickOf = ({ schedule, timezone, next_at, now }: DueTrigger) =>
  dueTick({ cron: schedule ?? '', timezone }, next_at ?? now, now, GRACE_MS)

/** Owners read in the audit log why a schedule makes no runs: once for each reason, not every minute. */
async function tellRefusal(ctx: Ctx, trx: WorkflowsDb, trigger: DueTrigger, reason: string): Promise<void> {
  if (trigger.refusal === reason) return
  await setRefusal(trx, trigger, reason)
  await ctx.audit.record(trx, ACT, {
    spaceId: trigger.space_id,
    resourceType: 'workflow_trigger',
    resourceId: trigger.trigger_id,
    after: { workflowId: trigger.workflow_id, stage: trigger.stage, refused: reason },
  })
}

/** @returns undefined when the tick makes no run, for a reason that the logs tell */
async function runOf(ctx: Ctx, trx: WorkflowsDb, trigger: DueTrigger): Promise<MadeRun | undefined> {
  if (!(await ctx.spaces.isOpen(trigger.space_id))) return undefined
  const by = { act: ACT, createdBy: `trigger:${trigger.trigger_id}` }
  try {
    const run = await makeRun(ctx, trx, { ...pathOf(trigger), stage: trigger.stage }, by)
    if (trigger.refusal !== null) await setRefusal(trx, trigger, null)
    return run
  } catch (error) {
    // What `makeRun` refuses it refuses before it writes, so the transaction is good for the next tick.
    if (!(error instanceof AppError) || error.code === 'unavailable') throw error
    const reason = error.message.slice(0, 1000)
    ctx.log.warn({ ...pathOf(trigger), reason }, 'a schedule was due and its run was refused')
    await tellRefusal(ctx, trx, trigger, reason)
    return undefined
  }
}

interface Taken {
  readonly trigger: DueTrigger
  readonly run: MadeRun | undefined
}

/**
 * Takes one tick that is due: makes its run and says when the next one is, in one transaction that holds the trigger,
 * so that each tick makes one run whatever the number of processes.
 * @returns whether one was due
 */
async function fireOne(ctx: Ctx): Promise<boolean> {
  let trigger: DueTrigger | undefined
  let taken: Taken | undefined
  try {
    taken = await ctx.db.transaction().execute(async (trx) => {
      trigger = await lockDueTrigger(trx)
      if (trigger === undefined) return undefined
      const { fires, next } = tickOf(trigger)
      await setNextTick(trx, trigger, next ?? null)
      return { trigger, run: fires ? await runOf(ctx, trx, trigger) : undefined }
    })
  } catch (err) {
    if (trigger === undefined || isUnavailable(err)) throw err
    // One that can never be fired must not keep the others from it.
    ctx.log.error({ ...pathOf(trigger), err }, 'a schedule was due and could not be fired')
    await setNextTick(ctx.db, trigger, tickOf(trigger).next ?? null)
    return true
  }
  if (taken?.run !== undefined) ctx.keeper.begin(taken.run)
  return taken !== undefined
}

/** So many at once: a tick of the full hour is due for many schedules. */
const AT_ONCE = 2

/** Fires all schedules that are due. Any number of processes may do so at once. */
export async function fireDueSchedules(ctx: Ctx, isStopping: () => boolean): Promise<void> {
  if (ctx.engine === undefined) return
  const fireAll = async (): Promise<void> => {
    while (!isStopping() && (await fireOne(ctx)));
  }
  await Promise.all(Array.from({ length: AT_ONCE }, fireAll))
}
