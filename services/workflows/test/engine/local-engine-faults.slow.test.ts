import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { asOwner, randomFrom } from '@atrium/testing'
import pg from 'pg'
import { afterEach, beforeEach, expect, inject, it } from 'vitest'
import type { EngineRun } from '../../src/ports.ts'
import { statuses, tasksOf, until } from './engine-contract.ts'
import { type LocalEngineTest, startLocalEngine } from './local-engine.ts'
import { scriptTask } from './shell.ts'

let subject: LocalEngineTest
let owner: pg.Client
const workers: ChildProcess[] = []

async function startWorker(): Promise<ChildProcess> {
  const worker = fork(
    path.join(import.meta.dirname, 'worker-process.ts'),
    [subject.databaseUrl, subject.dataDir],
    {
      execArgv: [],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    },
  )
  await once(worker, 'message')
  workers.push(worker)
  return worker
}

async function kill(worker: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const gone = once(worker, 'exit')
  worker.kill(signal)
  await gone
  workers.splice(workers.indexOf(worker), 1)
}

/** Writes down every change of a task's status. */
const WATCH = `
  CREATE TABLE workflows.seen (seq bigint GENERATED ALWAYS AS IDENTITY, run_id uuid, name text, was text, became text);
  CREATE FUNCTION workflows.see() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    INSERT INTO workflows.seen (run_id, name, was, became) VALUES (NEW.run_id, NEW.name, OLD.status, NEW.status);
    RETURN NEW; END $$;
  CREATE TRIGGER see AFTER UPDATE OF status ON workflows.local_tasks
    FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION workflows.see()`

beforeEach(async () => {
  // This process runs no tasks itself.
  subject = await startLocalEngine({ slots: 0 })
  owner = new pg.Client({ connectionString: asOwner(inject('databaseAdminUrl'), subject.databaseUrl) })
  await owner.connect()
  await owner.query(WATCH)
})
afterEach(async () => {
  await Promise.all([...workers].map((worker) => kill(worker, 'SIGKILL')))
  await owner.end()
  await subject.close()
})

async function submitDiamonds(count: number): Promise<EngineRun[]> {
  const runs: EngineRun[] = []
  for (let at = 0; at < count; at++) {
    const work = scriptTask(`sleep 0.$((RANDOM_SEED % 5)); echo "$NAME" >> order`, {
      env: JSON.stringify({ RANDOM_SEED: String(at) }),
    })
    const plan = { a: [], b: ['a'], c: ['a'], d: ['b', 'c'] }
    const tasks = Object.entries(plan).map(([name, dependencies]) => ({ name, dependencies, ...work }))
    const run = { ...(await subject.record()), attempt: 1, finished: [], tasks }
    await subject.engine.submit(run)
    runs.push(run)
  }
  return runs
}

it('loses nothing and finishes each task once while workers are killed again and again', async () => {
  const random = randomFrom(1)
  await Promise.all([startWorker(), startWorker(), startWorker()])
  const runs = await submitDiamonds(50)
  for (let kills = 0; kills < 20; kills++) {
    await delay(300 + random() * 700)
    const victim = workers[Math.floor(random() * workers.length)] as ChildProcess
    await kill(victim, 'SIGKILL')
    await startWorker()
  }
  for (const run of runs) {
    const state = await until(subject.engine, run, ({ isEnded }) => isEnded, 150_000)
    expect(statuses(state)).toEqual({ a: 'Succeeded', b: 'Succeeded', c: 'Succeeded', d: 'Succeeded' })
  }
  const { rows } = await owner.query<{ finished: number; again: number }>(`
    SELECT count(*) FILTER (WHERE became = 'Succeeded')::int AS finished,
           count(*) FILTER (WHERE was = 'Succeeded')::int AS again FROM workflows.seen`)
  expect(rows).toEqual([{ finished: 200, again: 0 }])
})

it('takes up elsewhere what a killed worker ran', async () => {
  const first = await startWorker()
  const [task] = tasksOf(subject, { t: [{ kind: 'wait', name: 'taken-up' }] })
  const run = {
    ...(await subject.record()),
    attempt: 1,
    finished: [],
    tasks: task === undefined ? [] : [task],
  }
  await subject.engine.submit(run)
  const before = await until(subject.engine, run, ({ tasks }) => tasks[0]?.status === 'Running')
  await startWorker()
  await kill(first, 'SIGKILL')
  // The lease, a sweep, and a slow machine.
  await until(
    subject.engine,
    run,
    ({ tasks }) => (tasks[0]?.startedAt ?? 0) > (before.tasks[0]?.startedAt ?? 0),
    30_000,
  )
  await subject.release('taken-up')
  expect(statuses(await until(subject.engine, run, ({ isEnded }) => isEnded))).toEqual({ t: 'Succeeded' })
})

it('gives back what it runs when it is stopped, and cancels what its worker left', async () => {
  const first = await startWorker()
  const tasks = tasksOf(subject, { t: [{ kind: 'wait', name: 'never' }] })
  const run = { ...(await subject.record()), attempt: 1, finished: [], tasks }
  await subject.engine.submit(run)
  await until(subject.engine, run, (state) => state.tasks[0]?.status === 'Running')
  await kill(first, 'SIGTERM')
  await until(subject.engine, run, (state) => state.tasks[0]?.status === 'Pending')
  const second = await startWorker()
  await until(subject.engine, run, (state) => state.tasks[0]?.status === 'Running')
  await kill(second, 'SIGKILL')
  await subject.engine.cancel(run)
  await startWorker()
  const state = await until(subject.engine, run, ({ isEnded }) => isEnded)
  expect([state.isCancelled, statuses(state)]).toEqual([true, { t: 'Cancelled' }])
})
