import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { type OwnPostgres, startOwnPostgres } from '@atrium/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { processesOf, spawnAtrium, stopProcess, waitForOutput } from './processes.ts'
import {
  fetchTask,
  pythonTask,
  setUpWorkflows,
  type WorkflowSetUp,
  WorkflowSpace,
} from './workflow-client.ts'

/** In the command line of every process of a task. */
const MARK = randomBytes(6).toString('hex')

const IGNORING = `
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
def wait():
    while True:
        time.sleep(1)
`

const SCRIPTS: Readonly<Record<string, string>> = {
  'ignores every signal that it can': `${IGNORING}
print("begun")
wait()
`,
  'has daemons: of two forks, of sessions of their own': `${IGNORING}
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in (0, 1, 2):
                os.close(number)
            wait()
        os._exit(0)
print("begun")
wait()
`,
  'forks without end': `${IGNORING}
print("begun")
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(0.05)
`,
  'is another process at every moment': `${IGNORING}
if os.fork() == 0:
    os.setsid()
    print("begun")
    while True:
        try:
            if os.fork() != 0:
                os._exit(0)
        except OSError:
            pass
        time.sleep(0.001)
wait()
`,
}
const CASES = Object.keys(SCRIPTS).map((what, n) => ({ what, script: `hostile-${n}-${MARK}.py` }))

let postgres: OwnPostgres
let setUp: WorkflowSetUp
let space: WorkflowSpace
const servers: ChildProcess[] = []

async function begin(server: number, tasks: number): Promise<Record<string, string>> {
  const env = {
    ...setUp.env(server),
    DATABASE_URL: postgres.url,
    ATRIUM_WORKFLOWS_TASKS: String(tasks),
    ATRIUM_WORKFLOWS_TASK_PROCESSES: '60',
  }
  servers[server] = spawnAtrium(['up'], env)
  await waitForOutput(servers[server] as ChildProcess, /Atrium is ready/)
  return env
}

beforeAll(async () => {
  postgres = await startOwnPostgres()
  const files = Object.fromEntries(CASES.map(({ what, script }) => [script, SCRIPTS[what] ?? '']))
  setUp = await setUpWorkflows({ servers: 2, files })
  // Who is asked runs no tasks itself.
  const env = await begin(0, 0)
  await begin(1, 4)
  space = await WorkflowSpace.make(setUp.urls[0] ?? '', env)
}, 120_000)
afterAll(async () => {
  for (const server of servers) await stopProcess(server, 'SIGTERM')
  await setUp?.close()
  await postgres?.close()
}, 60_000)

it.each(CASES)(
  'a cancelled task leaves no process when it $what',
  async ({ what, script }) => {
    const workflow = script.replace('.py', '')
    await space.push(workflow, [fetchTask(setUp.git), pythonTask('hostile', { script }, ['fetch'])])
    const { runId } = await space.start(workflow)
    const log = async () => (await space.get(`${workflow}/runs/${runId}/logs`)).text()
    await expect.poll(log, { timeout: 60_000, interval: 200 }).toContain('begun')
    expect(processesOf(script).length).toBeGreaterThan(0)

    const asked = Date.now()
    expect((await space.send('POST', `${workflow}/runs/${runId}:cancel`)).status).toBe(200)
    await expect.poll(() => processesOf(script), { timeout: 15_000, interval: 20 }).toEqual([])
    const gone = Date.now() - asked
    const status = async () => (await space.run(workflow, runId)).status
    await expect.poll(status, { timeout: 15_000, interval: 50 }).toBe('Cancelled')
    process.stderr.write(`${what}: gone after ${gone} ms, on record after ${Date.now() - asked} ms\n`)
    expect(processesOf(script)).toEqual([])
  },
  120_000,
)
