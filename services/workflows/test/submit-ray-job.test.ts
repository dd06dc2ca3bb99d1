import { type FakeRay, startFakeRay } from '@atrium/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { egressAgent } from '../src/adapters/egress/agent.ts'
import { egressSocket } from '../src/adapters/egress/web-socket.ts'
import { TaskFailure } from '../src/adapters/local/program.ts'
import { submitRayJob } from '../src/adapters/ray/submit-ray-job.ts'
import { egressRule } from '../src/domain/egress-rule.ts'
import { type TestTask, testTask } from './support/running-task.ts'

const TOKEN = 'ray-token-0123456789'
const rule = egressRule(['127.0.0.1'])
const way = { agent: egressAgent(rule), openSocket: egressSocket(rule) }
let ray: FakeRay
const opened: TestTask[] = []

beforeEach(async () => {
  ray = await startFakeRay({ token: TOKEN })
})
afterEach(async () => {
  await ray.close()
  for (const task of opened.splice(0)) await task.close()
})

async function start(args: Record<string, string> = {}): Promise<{ task: TestTask; ended: Promise<void> }> {
  const task = await testTask({ entrypoint: 'python main.py', rayAddress: ray.url, token: TOKEN, ...args })
  opened.push(task)
  const ended = submitRayJob({ ...way, pollMs: 20 })(task)
  ended.catch(() => {})
  return { task, ended }
}

const submitted = () => vi.waitFor(() => expect(ray.jobs.size).toBe(1))
const followed = () => vi.waitFor(() => expect(ray.job.followers.size).toBe(1), { timeout: 10_000 })
const failure = async (ended: Promise<void>): Promise<string> => {
  const error = await ended.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(TaskFailure)
  return (error as Error).message
}

it('submits a job, follows its log and ends with it', async () => {
  const { task, ended } = await start({
    runtimeEnv: '{"pip":["numpy"]}',
    entrypointNumCpus: '0.5',
    entrypointNumGpus: '1',
  })
  await submitted()
  expect(ray.job.request).toEqual({
    entrypoint: 'python main.py',
    submission_id: expect.stringMatching(/^atrium-[-0-9a-f]{36}-1-[0-9a-f]{16}$/),
    runtime_env: { pip: ['numpy'] },
    metadata: { atrium_run: task.ref.runId, atrium_task: 'task' },
    entrypoint_num_cpus: 0.5,
    entrypoint_num_gpus: 1,
  })
  await followed()
  ray.say('one\ntw')
  ray.say('o\n')
  await vi.waitFor(() => expect(task.lines.slice(1)).toEqual(['one', 'two']))
  ray.say('without an end')
  ray.end('SUCCEEDED')
  await ended
  expect(task.lines.slice(1)).toEqual(['one', 'two', 'without an end'])
  expect(task.lines.join()).not.toContain(TOKEN)
})

it('shows each line once when the connection breaks in between', async () => {
  const { task, ended } = await start()
  await submitted()
  await followed()
  ray.say('one\ntwo\nthr')
  await vi.waitFor(() => expect(task.lines).toContain('two'))
  ray.breakLogs()
  await followed()
  ray.say('ee\n')
  ray.end('SUCCEEDED')
  await ended
  expect(task.lines.slice(1)).toEqual(['one', 'two', 'three'])
})

it('fails with the job, in its words and with its last lines', async () => {
  const { ended } = await start()
  await submitted()
  await followed()
  ray.say('Traceback\nValueError: x\n')
  ray.end('FAILED', 'Job entrypoint command failed', 3)
  expect(await failure(ended)).toBe(
    'the Ray job failed (exit code 3)\nJob entrypoint command failed\nTraceback\nValueError: x',
  )
})

it.each(['cancelled', 'disk'])('stops the job when the task is ended for %s', async (reason) => {
  const { task, ended } = await start()
  await submitted()
  task.abort(reason)
  await expect(ended).rejects.toThrow()
  expect(ray.job.stopped).toBe(true)
})

it.each(['lost', 'closing'])(
  'leaves the job to the process that takes the task up when it is %s',
  async (reason) => {
    const first = await start()
    await submitted()
    first.task.abort(reason)
    await expect(first.ended).rejects.toThrow()
    expect(ray.job.stopped).toBe(false)
    const second = await start()
    await vi.waitFor(() => expect(second.task.lines.join()).toContain('submitted before'))
    ray.end('SUCCEEDED')
    await second.ended
    expect(ray.jobs.size).toBe(1)
  },
)

it('stops the job when its time is over', async () => {
  const { ended } = await start({ timeoutSeconds: '1' })
  expect(await failure(ended)).toBe('the job took longer than 1 seconds and was stopped')
  expect(ray.job.stopped).toBe(true)
})

it('bears a cluster that fails for a while', async () => {
  const { ended } = await start()
  await submitted()
  ray.fail(500, 5)
  ray.end('SUCCEEDED')
  await ended
})

describe('what cannot be', () => {
  it.each([
    [{ token: 'another' }, 'Ray answers 401: Unauthorized'],
    [{ rayAddress: 'http://127.0.0.2:8265' }, 'ATRIUM_ALLOWED_ADDRESSES'],
    [{ rayAddress: 'http://169.254.169.254' }, 'ATRIUM_ALLOWED_ADDRESSES'],
    [{ rayAddress: 'file:///etc/passwd' }, 'rayAddress must begin with http'],
    [{ runtimeEnv: '[]' }, 'runtimeEnv must be a JSON object'],
    [{ entrypoint: ' ' }, 'entrypoint must be a command'],
    [{ entrypointNumCpus: 'x' }, 'entrypointNumCpus must be a number'],
  ])('fails: %j', async (args, expected) => {
    const { ended } = await start(args as Record<string, string>)
    expect(await failure(ended)).toContain(expected)
    expect(ray.jobs.size).toBe(0)
  })

  it('a cluster by its name, on this engine', async () => {
    const task = await testTask({ entrypoint: 'x', rayCluster: 'c' })
    opened.push(task)
    expect(await failure(submitRayJob(way)(task))).toContain('rayCluster needs an engine on Kubernetes')
  })
})
