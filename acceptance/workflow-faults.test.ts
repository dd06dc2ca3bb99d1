import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type OwnPostgres, randomFrom, startOwnPostgres } from '@atrium/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { processesOf, spawnAtrium, stopProcess, waitForOutput } from './processes.ts'
import {
  fetchTask,
  pythonTask,
  type Run,
  setUpWorkflows,
  type Task,
  type WorkflowSetUp,
  WorkflowSpace,
} from './workflow-client.ts'

const SEED = Number(process.env.TEST_SEED ?? 20_261_122)
const RUNS = 50
const KILLS_A_SERVER = 10
/** In the command line of every process of a task. */
const SCRIPT = `step-${randomBytes(6).toString('hex')}.py`

/** Says to this test when it begins and when it is done; in between it works for a moment. */
const STEP = `
import json, os, socket, sys, time
task, seconds, code = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
def say(what):
    line = json.dumps({"run": os.environ["ATRIUM_RUN_ID"], "task": task, "start": os.environ["ATRIUM_TASK_START"], "what": what, "at": time.time() * 1000})
    with socket.create_connection(("127.0.0.1", int(os.environ["LISTENER"]))) as listener:
        listener.sendall((line + "\\n").encode())
        listener.recv(1)
say("start")
time.sleep(seconds)
with open(os.environ["ATRIUM_METRICS"], "a") as metrics:
    metrics.write('{"name":"finished","step":0,"value":1}\\n')
say("finish")
sys.exit(code)
`

const step = (name: string, seconds: number, dependencies: readonly string[], code = 0): Task =>
  pythonTask(name, { script: SCRIPT, args: `${name} ${seconds} ${code}` }, dependencies)

interface Kind {
  readonly workflow: string
  readonly runs: number
  readonly status: string
  readonly tasks: Readonly<Record<string, string>>
}
const GOOD = { fetch: 'Succeeded', left: 'Succeeded', right: 'Succeeded', last: 'Succeeded' }
const KINDS: readonly Kind[] = [
  { workflow: 'good', runs: RUNS - 10, status: 'Succeeded', tasks: GOOD },
  {
    workflow: 'bad',
    runs: 5,
    status: 'Failed',
    tasks: { ...GOOD, right: 'Failed', last: 'Skipped' },
  },
  { workflow: 'endless', runs: 5, status: 'Cancelled', tasks: {} },
]

interface Said {
  readonly run: string
  readonly task: string
  readonly start: string
  readonly what: 'start' | 'finish'
  readonly at: number
}

let postgres: OwnPostgres
let setUp: WorkflowSetUp
let space: WorkflowSpace
const servers: (ChildProcess | undefined)[] = [undefined, undefined]

const said: Said[] = []
/** Answers a line once it is noted. */
const listener = createServer((socket) => {
  let text = ''
  socket.on('error', () => {})
  socket.setEncoding('utf8').on('data', (piece) => {
    text += piece
    if (!text.endsWith('\n')) return
    said.push(JSON.parse(text) as Said)
    socket.end('.')
  })
})

/** @returns the port */
async function listen(): Promise<number> {
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  return (listener.address() as AddressInfo).port
}

const begin = (server: number): Promise<string> => {
  const child = spawnAtrium(['up'], { ...setUp.env(server), DATABASE_URL: postgres.url })
  servers[server] = child
  return waitForOutput(child, /Atrium is ready/)
}

beforeAll(async () => {
  postgres = await startOwnPostgres()
  setUp = await setUpWorkflows({
    servers: 2,
    files: { [SCRIPT]: STEP },
    env: {
      ATRIUM_WORKFLOWS_TASKS: '6',
      ATRIUM_WORKFLOWS_TASKS_PER_SPACE: '6',
      ATRIUM_WORKFLOWS_TASK_ENV: `LISTENER=${await listen()}`,
    },
  })
  await begin(0)
  await begin(1)
  space = await WorkflowSpace.make(setUp.urls[0] ?? '', { ...setUp.env(0), DATABASE_URL: postgres.url })
  const fetched = fetchTask(setUp.git)
  const last = step('last', 0.3, ['left', 'right'])
  await space.push('good', [fetched, step('left', 0.8, ['fetch']), step('right', 0.4, ['fetch']), last])
  await space.push('bad', [fetched, step('left', 0.3, ['fetch']), step('right', 0.6, ['fetch'], 3), last])
  await space.push('endless', [fetched, step('left', 600, ['fetch']), step('last', 0.1, ['left'])])
}, 120_000)
afterAll(async () => {
  for (const server of servers) await stopProcess(server, 'SIGTERM')
  await setUp?.close()
  await postgres?.close()
  listener.close()
}, 60_000)

/** Asks one server after the other until one answers. */
async function insist<T>(random: () => number, method: string, where: string, key: string): Promise<T> {
  for (let server = Math.floor(random() * 2); ; server = 1 - server) {
    const answer = await fetch(space.at(where, setUp.urls[server]), {
      method,
      headers: {
        authorization: `Bearer ${space.token}`,
        'idempotency-key': key,
        'content-type': 'application/json',
      },
      ...(method === 'POST' ? { body: '{}' } : {}),
    })
      .then(async (response) => ({ status: response.status, text: await response.text() }))
      .catch(() => undefined)
    if (answer !== undefined && answer.status < 300) return JSON.parse(answer.text) as T
    expect([undefined, 500, 503], answer?.text).toContain(answer?.status)
    await delay(100)
  }
}

interface Made extends Kind {
  readonly runId: string
}

/** Begins the runs while servers come and go, and cancels those that would not end. */
async function makeRuns(random: () => number): Promise<Made[]> {
  const wanted = KINDS.flatMap((kind) => Array.from({ length: kind.runs }, () => kind))
  return Promise.all(
    wanted.map(async (kind, n) => {
      await delay(random() * 3000)
      const runs = `${kind.workflow}/runs`
      const { runId } = await insist<Run>(random, 'POST', `${runs}?stage=test&versionId=v1`, `run-${n}`)
      if (kind.status === 'Cancelled') {
        await delay(random() * 20_000)
        await insist<Run>(random, 'POST', `${runs}/${runId}:cancel`, `cancel-${n}`)
      }
      return { ...kind, runId }
    }),
  )
}

/** Kills a server without a word, again and again: as a rule at its work, now and then while it starts. */
async function killAgainAndAgain(server: number, random: () => number): Promise<void> {
  for (let kills = 0; kills < KILLS_A_SERVER; kills++) {
    await delay(200 + random() * 1600)
    await stopProcess(servers[server], 'SIGKILL')
    const ready = begin(server)
    if (random() < 0.25) ready.catch(() => {})
    else await ready
  }
}

const saidIn = (runId: string): Said[] => said.filter(({ run }) => run === runId)

async function metricsOf({ workflow, runId }: Made): Promise<string[]> {
  const answer = await space.get(`${workflow}/runs/${runId}/metrics`)
  const { metrics } = (await answer.json()) as { metrics: { task: string }[] }
  return metrics.map(({ task }) => task).sort()
}

interface Change {
  readonly event: string
  readonly name?: string
  readonly status: string
}

async function changesOf({ workflow, runId }: Made): Promise<Change[]> {
  const text = await (await space.get(`${workflow}/runs/${runId}/events`)).text()
  return text
    .split('\n\n')
    .filter((block) => block.includes('data: '))
    .map((block) => ({
      event: /^event: (.*)$/m.exec(block)?.[1] ?? '',
      ...(JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? '{}') as Omit<Change, 'event'>),
    }))
}

const OVER = /Succeeded|Failed|Cancelled|Skipped/

/** What one series of statuses must be: one end, and nothing after it. */
function expectOneEnd(statuses: readonly string[], end: string, what: string): void {
  expect([what, statuses.filter((status) => OVER.test(status))]).toEqual([what, [end]])
  expect([what, statuses.at(-1)]).toEqual([what, end])
}

async function checkRun(made: Made): Promise<number> {
  const run = await space.run(made.workflow, made.runId)
  const about = `${made.workflow} ${made.runId}: ${JSON.stringify(run)}`
  expect(run.status, about).toBe(made.status)
  const statuses = Object.fromEntries(run.tasks.map(({ name, status }) => [name, status]))
  if (made.status !== 'Cancelled') expect(statuses, about).toEqual(made.tasks)
  else
    for (const status of Object.values(statuses))
      expect(['Succeeded', 'Cancelled', 'Skipped']).toContain(status)

  const changes = await changesOf(made)
  const of = (event: string, name?: string) =>
    changes.filter((change) => change.event === event && change.name === name).map(({ status }) => status)
  expectOneEnd(of('run'), run.status, about)
  for (const { name, status } of run.tasks) expectOneEnd(of('task', name), status, `${name} of ${about}`)

  const said = saidIn(made.runId)
  for (const task of run.tasks)
    checkTask(
      task,
      said.filter(({ task: name }) => name === task.name),
      about,
    )
  const finished = run.tasks.filter(({ name, status }) => name !== 'fetch' && /Succ|Fail/.test(status))
  expect(await metricsOf(made), about).toEqual(finished.map(({ name }) => name).sort())
  return said.filter(({ what }) => what === 'finish').length - finished.length
}

/** No two processes of a task at a time, none after its end is on record, none that finished twice. */
function checkTask(task: Run['tasks'][number], said: readonly Said[], about: string): void {
  const lines = said.map(({ what, start }) => `${what} ${start}`)
  const where = `${task.name} of ${about}\n${lines.join('\n')}`
  const starts = [...new Set(said.map(({ start }) => start))]
  const ends = new Set(said.filter(({ what }) => what === 'finish').map(({ start }) => start))
  // Each start's own lines stand together: the one before it was gone.
  expect(lines, where).toEqual(
    starts.flatMap((start) => [`start ${start}`, ...(ends.has(start) ? [`finish ${start}`] : [])]),
  )
  if (task.completedAt !== null) {
    // Timestamps are whole milliseconds.
    for (const { at } of said) expect(at, where).toBeLessThan(Date.parse(task.completedAt) + 1)
  }
  if (task.name === 'fetch') return
  if (/Succ|Fail/.test(task.status)) expect(ends.has(starts.at(-1) ?? ''), where).toBe(true)
  if (task.status === 'Skipped') expect(said, where).toEqual([])
}

const isOver = async ({ workflow, runId }: Made): Promise<boolean> =>
  OVER.test((await space.run(workflow, runId)).status)

it(`loses no run and finishes each task once while servers are killed ${2 * KILLS_A_SERVER} times (seed ${SEED})`, async () => {
  process.stderr.write(`seed of the kills: ${SEED}\n`)
  const began = Date.now()
  const [made] = await Promise.all([
    makeRuns(randomFrom(SEED)),
    killAgainAndAgain(0, randomFrom(SEED + 1)),
    killAgainAndAgain(1, randomFrom(SEED + 2)),
  ])
  await Promise.all(servers.map((_, server) => untilReady(server)))
  const stormed = Date.now()
  const open = async () => (await Promise.all(made.map(isOver))).filter((over) => !over).length
  await expect.poll(open, { timeout: 120_000, interval: 1000 }).toBe(0)
  const ended = Date.now()

  let again = 0
  for (const run of made) again += await checkRun(run)
  for (const { workflow, runs } of KINDS) {
    const list = await (await space.get(`${workflow}/runs?pageSize=100`)).json()
    expect((list as { totalSize: number }).totalSize).toBe(runs)
  }
  expect(processesOf(SCRIPT)).toEqual([])
  // Only what can be retried keeps its workspace.
  const failed = made.filter(({ status }) => status === 'Failed').map(({ runId }) => runId)
  const folders = () => readdir(path.join(setUp.dataDir, 'workflows', 'spaces', space.spaceId, 'runs'))
  await expect
    .poll(async () => (await folders()).sort(), { timeout: 60_000, interval: 500 })
    .toEqual(failed.sort())
  process.stderr.write(
    `kills ${(stormed - began) / 1000} s, all over after ${(ended - began) / 1000} s; ${again} effects of killed starts\n`,
  )
}, 400_000)

async function untilReady(server: number): Promise<void> {
  const answers = () =>
    fetch(`${setUp.urls[server]}/portal/readiness`).then(
      ({ status }) => status,
      () => 0,
    )
  await expect.poll(answers, { timeout: 60_000, interval: 200 }).toBe(200)
}
