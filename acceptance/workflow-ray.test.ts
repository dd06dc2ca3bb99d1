import type { ChildProcess } from 'node:child_process'
import { type FakeRay, type OwnPostgres, startFakeRay, startOwnPostgres } from '@atrium/testing'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { spawnAtrium, stopProcess, waitForOutput } from './processes.ts'
import { setUpWorkflows, type WorkflowSetUp, WorkflowSpace } from './workflow-client.ts'

const TOKEN = 'ray-token-0123456789'

let postgres: OwnPostgres
let setUp: WorkflowSetUp
let space: WorkflowSpace
let ray: FakeRay
/** The first is asked and runs no tasks; the second runs them. */
let asked: ChildProcess
let worker: ChildProcess

async function begin(server: number, tasks: number): Promise<ChildProcess> {
  const env = { ...setUp.env(server), DATABASE_URL: postgres.url, ATRIUM_WORKFLOWS_TASKS: String(tasks) }
  const child = spawnAtrium(['up'], env)
  await waitForOutput(child, /Atrium is ready/)
  return child
}

beforeAll(async () => {
  postgres = await startOwnPostgres()
  setUp = await setUpWorkflows({ servers: 2, files: { 'a.txt': 'a' } })
  asked = await begin(0, 0)
  space = await WorkflowSpace.make(setUp.urls[0] ?? '', { ...setUp.env(0), DATABASE_URL: postgres.url })
}, 120_000)
afterAll(async () => {
  await stopProcess(asked, 'SIGTERM')
  await setUp?.close()
  await postgres?.close()
}, 60_000)
beforeEach(async () => {
  ray = await startFakeRay({ token: TOKEN })
  worker = await begin(1, 2)
}, 60_000)
afterEach(async () => {
  await stopProcess(worker, 'SIGTERM')
  await ray.close()
}, 60_000)

it.each([
  ['is killed', 'SIGKILL'],
  ['has stopped and given its task back', 'SIGTERM'],
] as const)(
  'a Ray job is stopped when its run is cancelled after its worker %s',
  async (_how, signal) => {
    const workflow = `ray-${signal.toLowerCase()}`
    const secret = `${setUp.urls[0]}/workflows/v1/spaces/${space.spaceId}/secrets/RAY`
    const stored = await fetch(secret, {
      method: 'PUT',
      headers: { authorization: `Bearer ${space.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ value: TOKEN }),
    })
    expect(stored.ok).toBe(true)
    await space.push(workflow, [
      {
        name: 'train',
        templateRef: { name: 'submit-ray-job', version: 'v1' },
        // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference
        arguments: { entrypoint: 'python main.py', rayAddress: ray.url, token: '${secret.RAY}' },
        dependencies: [],
      },
    ])
    const { runId } = await space.start(workflow)
    const log = async () => (await space.get(`${workflow}/runs/${runId}/logs`)).text()
    await expect.poll(() => ray.jobs.size, { timeout: 30_000 }).toBe(1)
    await expect.poll(log, { timeout: 30_000 }).toContain('submitted as')

    await stopProcess(worker, signal)
    expect(ray.job.stopped).toBe(false)
    expect((await space.send('POST', `${workflow}/runs/${runId}:cancel`)).status).toBe(200)
    worker = await begin(1, 2)
    const run = () => space.run(workflow, runId)
    await expect.poll(async () => (await run()).status, { timeout: 60_000, interval: 200 }).toBe('Cancelled')
    expect(ray.job.stopped).toBe(true)
    expect(ray.jobs.size).toBe(1)
    expect((await run()).tasks.map(({ status }) => status)).toEqual(['Cancelled'])
    expect(await log()).toMatch(/submitted as[\s\S]*the Ray job was told to stop/)
  },
  170_000,
)
