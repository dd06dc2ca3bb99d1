import { systemAct } from '@atrium/access'
import { AppError, isUnavailable } from '@atrium/kernel/errors'
import type { WorkflowsContext } from '../../context.ts'
import type { WorkflowsDb } from '../../queries/tables.ts'
import {
  type DueTrigger,
  lockDueTrigger,
  selectSpacesWithDueTriggers,
  setNextTick,
  setRefusal,
} from '../../queries/triggers.ts'
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

const MISSED = 'Ticks that were due more than 5 minutes ago made no run: nothing fired schedules meanwhile'

/** @returns undefined when the tick makes no run, for a reason that the logs tell */
async function runOf(
  ctx: Ctx,
  trx: WorkflowsDb,
  trigger: DueTrigger,
  fires: boolean,
): Promise<MadeRun | undefined> {
  if (!(await ctx.spaces.isOpen(trigger.space_id))) return undefined
  const { next_at, now } = trigger
  if (next_at !== null && now.getTime() - next_at.getTime() > GRACE_MS)
    await tellRefusal(ctx, trx, trigger, MISSED)
  if (!fires) return undefined
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
 * Takes one tick of a space that is due: makes its run and says when the next one is, in one transaction that holds the trigger,
 * so that each tick makes one run whatever the number of processes.
 * @returns whether one was due
 */
async function fireOne(ctx: Ctx, spaceId: string): Promise<boolean> {
  let trigger: DueTrigger | undefined
  let taken: Taken | undefined
  try {
    taken = await ctx.db.transaction().execute(async (trx) => {
      trigger = await lockDueTrigger(trx, spaceId)
      if (trigger === undefined) return undefined
      const { fires, next } = tickOf(trigger)
      await setNextTick(trx, trigger, next ?? null)
      return { trigger, run: await runOf(ctx, trx, trigger, fires) }
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
const AT_ONCE = 4
const SPACES_AT_ONCE = 1000

/** Fires one schedule of each of these spaces. @returns whether any was due */
async function fireRound(ctx: Ctx, spaces: readonly string[], isStopping: () => boolean): Promise<boolean> {
  const left = spaces.values()
  let hasFired = false
  const fire = async (): Promise<void> => {
    // Shared: each takes the next that nobody has taken.
    for (const spaceId of left) {
      if (isStopping()) return
      if (await fireOne(ctx, spaceId)) hasFired = true
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, fire))
  return hasFired
}

/**
 * Fires all schedules that are due, one of each space in turn: thousands of one hold up no other's. Any number of
 * processes may do so at once.
 */
export async function fireDueSchedules(ctx: Ctx, isStopping: () => boolean): Promise<void> {
  if (ctx.engine === undefined) return
  while (!isStopping()) {
    const spaces = await selectSpacesWithDueTriggers(ctx.db, SPACES_AT_ONCE)
    // What is due and was not to be had is another process's.
    if (spaces.length === 0 || !(await fireRound(ctx, spaces, isStopping))) return
  }
}
