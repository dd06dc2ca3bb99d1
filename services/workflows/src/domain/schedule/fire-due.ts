import { systemAct } from '@atrium/access'
import { AppError, isUnavailable } from '@atrium/kernel/errors'
import type { WorkflowsContext } from '../../context.ts'
import type { WorkflowsDb } from '../../queries/tables.ts'
import { type DueTrigger, lockDueTrigger, setNextTick } from '../../queries/triggers.ts'
import { type MadeRun, makeRun } from '../runs/create-run.ts'
import { dueTick } from './cron.ts'

type Ctx = Pick<WorkflowsContext, 'db' | 'audit' | 'engine' | 'keeper' | 'env' | 'log' | 'spaces'>

/** Ticks that nobody took are made up for when they are no older. */
const GRACE_MS = 5 * 60_000

const pathOf = ({ space_id: spaceId, workflow_id: workflowId, trigger_id: triggerId }: DueTrigger) => ({
  spaceId,
  workflowId,
  triggerId,
})

const tickOf = ({ schedule, timezone, next_at, now }: DueTrigger) =>
  dueTick({ cron: schedule ?? '', timezone }, next_at ?? now, now, GRACE_MS)

/** @returns undefined when the tick makes no run, for a reason that the log tells */
async function runOf(ctx: Ctx, trx: WorkflowsDb, trigger: DueTrigger): Promise<MadeRun | undefined> {
  if (!(await ctx.spaces.isOpen(trigger.space_id))) return undefined
  const by = { act: systemAct('runSchedule'), createdBy: `trigger:${trigger.trigger_id}` }
  try {
    return await makeRun(ctx, trx, { ...pathOf(trigger), stage: trigger.stage }, by)
  } catch (error) {
    // What `makeRun` refuses it refuses before it writes, so the transaction is good for the next tick.
    if (!(error instanceof AppError) || error.code === 'unavailable') throw error
    const reason = error.message.slice(0, 1000)
    ctx.log.warn({ ...pathOf(trigger), reason }, 'a schedule was due and its run was refused')
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
