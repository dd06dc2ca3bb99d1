import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import {
  type GitServer,
  startGitServer,
  startTestPlatform,
  type TestPlatform,
  type TestSpace,
} from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Pipelines, pipelinesIn } from './pipelines.ts'

/** Says what its argument tells it to, one word after the other, each when the test has made a file of its number. */
const SCRIPT = `
import json, os, sys, time
path = os.environ["ATRIUM_METRICS"]
def point(value):
    return json.dumps({"name": "loss", "step": value, "value": value}) + "\\n"
acts = {
    "add": lambda n: open(path, "a").write(point(n)),
    "half": lambda n: open(path, "a").write(point(n)[:9]),
    "rest": lambda n: open(path, "a").write(point(n - 1)[9:]),
    "nonsense": lambda n: open(path, "a").write("nonsense\\n"),
    "rewrite": lambda n: open(path, "w").write(point(n)),
    "last": lambda n: open(path, "a").write(point(n)[:-1]),
    "fail": lambda n: sys.exit(3),
}
for n, act in enumerate(sys.argv[1].split("-")):
    while not os.path.exists(f"go{n}"):
        time.sleep(0.05)
    acts[act](n)
`
let git: GitServer
let platform: TestPlatform
let space: TestSpace
let pipelines: Pipelines
beforeAll(async () => {
  git = await startGitServer()
  await git.commit('train', { 'main.py': SCRIPT })
  const env = {
    ATRIUM_BACKGROUND_JOBS: 'true',
    ATRIUM_ENGINE: 'local',
    ATRIUM_ALLOWED_ADDRESSES: '127.0.0.1',
  }
  platform = await startTestPlatform({ env })
  space = await platform.space()
  pipelines = pipelinesIn(platform, space)
}, 60_000)
afterAll(async () => {
  await platform.close()
  await git.close()
})

/** A run of the script. */
async function run(acts: string) {
  const arguments_ = { repository: `${git.url}/train.git` }
  const fetch = {
    name: 'fetch',
    templateRef: { name: 'fetch-git-code', version: 'v1' },
    arguments: arguments_,
  }
  const train = {
    name: 'train',
    templateRef: { name: 'run-python-code', version: 'v1' },
    arguments: { script: 'main.py', args: acts },
    dependencies: ['fetch'],
  }
  // biome-ignore lint/suspicious/noExplicitAny: tasks of other templates than the others have
  const workflow = await pipelines.workflow([{ ...fetch, dependencies: [] }, train] as any)
  const runId = await pipelines.running(workflow)
  const workspace = path.join(
    ...[platform.dataDir, 'workflows', 'spaces', space.spaceId, 'runs', runId, 'workspace'],
  )
  const call = async (what: string) => (await pipelines.call('GET', `/${workflow}/runs/${runId}${what}`)).body
  const steps = async (): Promise<number[]> =>
    (await call('/metrics')).metrics.map(({ step }: { step: number }) => step)
  const training = async (): Promise<string> => (await call('')).tasks[1].status
  const until = (get: () => Promise<unknown>, value: unknown) =>
    vi.waitFor(async () => expect(await get()).toEqual(value), { timeout: 60_000, interval: 100 })
  await until(training, 'Running')
  return { steps, training, until, call, go: (n: number) => writeFile(path.join(workspace, `go${n}`), '') }
}

describe('metrics of a task that runs', () => {
  it('are shown as it adds them, each once, and to the last', async () => {
    const { steps, training, until, go, call } = await run('add-half-rest-nonsense-last')
    await go(0)
    await until(steps, [0])
    await go(1)
    await go(2)
    await until(steps, [0, 1])
    expect(await training()).toBe('Running')
    await go(3)
    await go(4)
    await until(training, 'Succeeded')
    expect(await steps()).toEqual([0, 1, 4])
    expect(await call('/logs?task=train')).toContain('1 lines of $ATRIUM_METRICS are not kept')
  }, 120_000)

  it('stay when it fails', async () => {
    const { steps, training, until, go } = await run('add-fail')
    await go(0)
    await until(steps, [0])
    await go(1)
    await until(training, 'Failed')
    expect(await steps()).toEqual([0])
  }, 120_000)

  it('are in the end what its file says, where it began the file anew', async () => {
    const { steps, training, until, go } = await run('add-add-add-rewrite-add')
    for (const n of [0, 1, 2]) await go(n)
    await until(steps, [0, 1, 2])
    for (const n of [3, 4]) await go(n)
    await until(training, 'Succeeded')
    expect(await steps()).toEqual([3, 4])
  }, 120_000)
})
