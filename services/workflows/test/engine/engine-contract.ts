import { newId } from '@atrium/kernel/ids'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EngineRun, EngineRunState, PlannedTask, RunRef, WorkflowEngine } from '../../src/ports.ts'

/** What a task of these tests does; every engine can do it in its own way. */
export type Behaviour =
  | { readonly kind: 'succeed' }
  /** Prints `line` and ends with exit code 3. */
  | { readonly kind: 'fail'; readonly line: string }
  /** Runs until `release(name)`, or until it is ended. */
  | { readonly kind: 'wait'; readonly name: string }
  /** Appends a line to a file of the run's workspace. */
  | { readonly kind: 'append'; readonly file: string; readonly line: string }
  /** Prints a file of the workspace. */
  | { readonly kind: 'print'; readonly file: string }
  /** Fails unless the file is there; makes it. */
  | { readonly kind: 'fail first'; readonly file: string }

export interface EngineUnderTest {
  readonly engine: WorkflowEngine
  /** A recorded run, not submitted. */
  record(options?: { maxParallelRuns?: number; workflowId?: string }): Promise<{
    spaceId: string
    workflowId: string
    runId: string
  }>
  behave(behaviour: Behaviour): Pick<PlannedTask, 'template' | 'arguments'>
  release(name: string): Promise<void>
  logOf(ref: RunRef, task: string): Promise<string>
  close(): Promise<void>
}

export type Plan = Readonly<Record<string, readonly [Behaviour, ...string[]]>>

const SUCCEED: Behaviour = { kind: 'succeed' }

export const tasksOf = (subject: Pick<EngineUnderTest, 'behave'>, plan: Plan): PlannedTask[] =>
  Object.entries(plan).map(([name, [behaviour, ...dependencies]]) => ({
    name,
    dependencies,
    ...subject.behave(behaviour),
  }))

/** Waits for what the engine says of a run. Fails with what it said last. */
export async function until(
  engine: WorkflowEngine,
  ref: RunRef,
  isSo: (state: EngineRunState) => boolean,
  withinMs = 60_000,
): Promise<EngineRunState> {
  const limit = Date.now() + withinMs
  for (;;) {
    const state = await engine.observe(ref)
    if (state !== undefined && isSo(state)) return state
    if (Date.now() > limit) throw new Error(`not yet: ${JSON.stringify(state)}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export const statuses = ({ tasks }: EngineRunState): Record<string, string> =>
  Object.fromEntries(tasks.map(({ name, status }) => [name, status]))

/** What every engine promises by its port. */
export function describeEngine(name: string, start: () => Promise<EngineUnderTest>): void {
  describe(`the port of engines, by ${name}`, () => {
    let subject: EngineUnderTest
    beforeAll(async () => {
      subject = await start()
    })
    afterAll(() => subject.close())

    async function submit(
      plan: Plan,
      more: Partial<EngineRun> & { maxParallelRuns?: number } = {},
    ): Promise<EngineRun> {
      const { maxParallelRuns, ...rest } = more
      const recorded = await subject.record(maxParallelRuns === undefined ? {} : { maxParallelRuns })
      const run = { ...recorded, attempt: 1, finished: [], tasks: tasksOf(subject, plan), ...rest }
      await subject.engine.submit(run)
      return run
    }
    const ended = (run: RunRef): Promise<EngineRunState> =>
      until(subject.engine, run, ({ isEnded }) => isEnded)

    it('runs tasks in the order of their dependencies, in one workspace', async () => {
      const append = (line: string): Behaviour => ({ kind: 'append', file: 'order', line })
      const run = await submit({
        print: [{ kind: 'print', file: 'order' }, 'last'],
        last: [append('last'), 'left', 'right'],
        left: [append('side'), 'first'],
        right: [append('side'), 'first'],
        first: [append('first')],
      })
      const state = await ended(run)
      expect(state).toMatchObject({ attempt: 1, isEnded: true, isCancelled: false })
      expect(state.tasks.map((task) => task.name)).toEqual(['print', 'last', 'left', 'right', 'first'])
      for (const task of state.tasks) {
        expect(task).toEqual({
          name: task.name,
          status: 'Succeeded',
          message: '',
          startedAt: expect.any(Date),
          completedAt: expect.any(Date),
        })
      }
      expect(await subject.logOf(run, 'print')).toContain('first\nside\nside\nlast\n')
    })

    it('runs what does not depend on each other at the same time', async () => {
      const run = await submit({ a: [{ kind: 'wait', name: 'a1' }], b: [{ kind: 'wait', name: 'b1' }] })
      const state = await until(subject.engine, run, ({ tasks }) =>
        tasks.every(({ status }) => status === 'Running'),
      )
      expect(state.isEnded).toBe(false)
      expect(state.tasks.map(({ completedAt }) => completedAt)).toEqual([undefined, undefined])
      await Promise.all([subject.release('a1'), subject.release('b1')])
      expect(statuses(await ended(run))).toEqual({ a: 'Succeeded', b: 'Succeeded' })
    })

    it('skips what depends on a task that failed, and says why it failed', async () => {
      const run = await submit({
        fails: [{ kind: 'fail', line: 'the disk is made of cheese' }],
        behind: [SUCCEED, 'fails'],
        further: [SUCCEED, 'behind', 'beside'],
        beside: [SUCCEED],
      })
      const state = await ended(run)
      expect(statuses(state)).toEqual({
        fails: 'Failed',
        behind: 'Skipped',
        further: 'Skipped',
        beside: 'Succeeded',
      })
      expect(state.isCancelled).toBe(false)
      expect(state.tasks[0]?.message).toMatch(/exit code 3[\s\S]*made of cheese/)
    })

    it('takes an attempt once, however often it comes', async () => {
      const recorded = await subject.record()
      const plan: Plan = {
        once: [{ kind: 'append', file: 'f', line: 'x' }],
        print: [{ kind: 'print', file: 'f' }, 'once'],
      }
      const run = { ...recorded, attempt: 1, finished: [], tasks: tasksOf(subject, plan) }
      await Promise.all(Array.from({ length: 5 }, () => subject.engine.submit(run)))
      const first = await ended(run)
      await subject.engine.submit(run)
      expect(await subject.engine.observe(run)).toEqual(first)
      expect((await subject.logOf(run, 'print')).match(/^x$/gm)).toHaveLength(1)
    })

    it('runs again what did not succeed, on the files that are there', async () => {
      const plan: Plan = {
        kept: [{ kind: 'append', file: 'kept', line: 'once' }],
        flaky: [{ kind: 'fail first', file: 'tried' }, 'kept'],
        print: [{ kind: 'print', file: 'kept' }, 'flaky'],
      }
      const run = await submit(plan)
      expect(statuses(await ended(run))).toEqual({ kept: 'Succeeded', flaky: 'Failed', print: 'Skipped' })
      const second = { ...run, attempt: 2, finished: ['kept'] }
      expect(await subject.engine.observe(second)).toBeUndefined()
      await Promise.all([subject.engine.submit(second), subject.engine.submit(second)])
      const state = await ended(second)
      expect(state.attempt).toBe(2)
      expect(statuses(state)).toEqual({ kept: 'Succeeded', flaky: 'Succeeded', print: 'Succeeded' })
      expect((await subject.logOf(second, 'print')).match(/^once$/gm)).toHaveLength(1)
      await subject.engine.submit(run)
      expect((await subject.engine.observe(run))?.attempt).toBe(2)
    })

    it('ends what runs and what waits when it is asked to cancel, twice as well as once', async () => {
      const run = await submit({
        done: [SUCCEED],
        runs: [{ kind: 'wait', name: 'never' }, 'done'],
        behind: [SUCCEED, 'runs'],
      })
      await until(subject.engine, run, ({ tasks }) => tasks[1]?.status === 'Running')
      await Promise.all([subject.engine.cancel(run), subject.engine.cancel(run)])
      const state = await ended(run)
      expect(state.isCancelled).toBe(true)
      expect(statuses(state)).toEqual({ done: 'Succeeded', runs: 'Cancelled', behind: 'Cancelled' })
      await subject.engine.cancel(run)
      expect(await subject.engine.observe(run)).toEqual(state)
    })

    it('changes nothing of what has ended when it is asked to cancel', async () => {
      const run = await submit({ only: [SUCCEED] })
      const state = await ended(run)
      await subject.engine.cancel(run)
      expect(await subject.engine.observe(run)).toEqual(state)
    })

    it('knows nothing of runs that were not submitted, and cancels and removes none', async () => {
      const ref = { spaceId: newId(), runId: newId(), attempt: 1 }
      expect(await subject.engine.observe(ref)).toBeUndefined()
      await subject.engine.cancel(ref)
      await subject.engine.remove(ref)
    })

    it('forgets what is removed once it has ended, and nothing before', async () => {
      const run = await submit({ runs: [{ kind: 'wait', name: 'removed' }] })
      await until(subject.engine, run, ({ tasks }) => tasks[0]?.status === 'Running')
      await subject.engine.remove(run)
      expect(await subject.engine.observe(run)).toBeDefined()
      await subject.release('removed')
      await ended(run)
      await subject.engine.remove(run)
      await subject.engine.remove(run)
      expect(await subject.engine.observe(run)).toBeUndefined()
    })

    it('tells listeners when something of a run has changed', async () => {
      const heard: string[] = []
      subject.engine.onChange(({ runId }) => void heard.push(runId))
      const run = await submit({ only: [SUCCEED] })
      await ended(run)
      await expect.poll(() => heard).toContain(run.runId)
    })

    it('lets a workflow have no more runs at once than it may', async () => {
      const { workflowId, ...first } = await subject.record({ maxParallelRuns: 1 })
      const tasks = (name: string): PlannedTask[] => tasksOf(subject, { t: [{ kind: 'wait', name }] })
      const second = await subject.record({ maxParallelRuns: 1, workflowId })
      const runs = [
        { ...first, workflowId, attempt: 1, finished: [], tasks: tasks('limited1') },
        { ...second, workflowId, attempt: 1, finished: [], tasks: tasks('limited2') },
      ] as const
      await subject.engine.submit(runs[0])
      await until(subject.engine, runs[0], (state) => state.tasks[0]?.status === 'Running')
      await subject.engine.submit(runs[1])
      const other = await submit({ other: [SUCCEED] })
      await ended(other)
      expect(statuses((await subject.engine.observe(runs[1])) as EngineRunState)).toEqual({ t: 'Pending' })
      await subject.release('limited1')
      await ended(runs[0])
      await until(subject.engine, runs[1], (state) => state.tasks[0]?.status === 'Running')
      await subject.release('limited2')
      await ended(runs[1])
    })

    it('completes a fan-out and fan-in of 200 tasks', async () => {
      const middle = Array.from({ length: 198 }, (_, n) => [`m${n}`, [SUCCEED, 'begin']] as const)
      const run = await submit({
        begin: [SUCCEED],
        ...Object.fromEntries(middle),
        end: [SUCCEED, ...middle.map(([task]) => task)],
      })
      const state = await ended(run)
      expect(state.tasks.filter(({ status }) => status !== 'Succeeded')).toEqual([])
      expect(state.tasks).toHaveLength(200)
    })

    it('takes what tenants write for text, whatever it looks like', async () => {
      const line = '$(touch /tmp/x) `id` "; exit 1; {{workflow.name}} \'"\\ ünïcode'
      const run = await submit({
        write: [{ kind: 'append', file: 'a b;c', line }],
        print: [{ kind: 'print', file: 'a b;c' }, 'write'],
      })
      expect(statuses(await ended(run))).toEqual({ write: 'Succeeded', print: 'Succeeded' })
      expect(await subject.logOf(run, 'print')).toContain(line)
    })
  })
}
