import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { egressAgent } from '../src/adapters/egress/agent.ts'
import { egressSocket } from '../src/adapters/egress/web-socket.ts'
import { RayJobs } from '../src/adapters/ray/ray-jobs.ts'
import { submitRayJob } from '../src/adapters/ray/submit-ray-job.ts'
import { egressRule } from '../src/domain/egress-rule.ts'
import { type TestTask, testTask } from './support/running-task.ts'

const SCRIPT = path.resolve('scripts/get-ray.sh')
const TOKEN = 'a-token-of-the-test-0123456789abcdef'

/** Ray's program, or why there is none. */
async function findRay(): Promise<{ readonly ray: string } | { readonly missing: string }> {
  try {
    const { stdout } = await promisify(execFile)(SCRIPT)
    return { ray: stdout.trim() }
  } catch (error) {
    return { missing: (error as { stderr?: string }).stderr?.trim().split('\n').at(-1) ?? String(error) }
  }
}

const found = await findRay()
if ('missing' in found) process.stderr.write(`submit-ray-job is not tested against Ray: ${found.missing}\n`)

describe.skipIf('missing' in found)('jobs on a real Ray with authentication', () => {
  const rule = egressRule(['127.0.0.1'])
  const way = { agent: egressAgent(rule), openSocket: egressSocket(rule) }
  let folder = ''
  let head: ChildProcess
  let address = ''
  const tasks: TestTask[] = []

  beforeAll(async () => {
    if (!('ray' in found)) return
    // Paths of Ray's sockets may have 107 characters.
    folder = await mkdtemp(path.join(tmpdir(), 'ray-'))
    const [dashboard, port, client, listener] = [
      await freePort(),
      await freePort(),
      await freePort(),
      await freePort(),
    ]
    address = `http://127.0.0.1:${dashboard}`
    head = spawn(
      found.ray,
      [
        ...[
          'start',
          '--head',
          '--block',
          '--disable-usage-stats',
          '--num-cpus=1',
          '--node-ip-address=127.0.0.1',
        ],
        ...['--dashboard-host=127.0.0.1', `--dashboard-port=${dashboard}`, `--port=${port}`],
        ...[
          `--ray-client-server-port=${client}`,
          '--min-worker-port=0',
          '--max-worker-port=0',
          `--temp-dir=${folder}`,
          '--object-store-memory=80000000',
          `--dashboard-agent-listen-port=${listener}`,
        ],
      ],
      {
        stdio: 'ignore',
        detached: true,
        env: {
          PATH: `${path.dirname(found.ray)}:${process.env.PATH}`,
          HOME: folder,
          RAY_AUTH_MODE: 'token',
          RAY_AUTH_TOKEN: TOKEN,
        },
      },
    )
    await vi.waitFor(() => new RayJobs(address, TOKEN, way).find('none', AbortSignal.timeout(5000)), {
      timeout: 150_000,
      interval: 1000,
    })
  })

  afterAll(async () => {
    for (const task of tasks) await task.close()
    if (head?.pid === undefined) return
    const ended = once(head, 'exit')
    head.kill('SIGTERM')
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 20_000).unref())])
    try {
      process.kill(-head.pid, 'SIGKILL')
    } catch {
      // All of them are gone.
    }
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 500 })
  })

  const start = async (args: Record<string, string>) => {
    const task = await testTask({ rayAddress: address, token: TOKEN, ...args })
    tasks.push(task)
    // Ray's ids are of one attempt of a run: each of these is a run of its own.
    const own = { ...task, ref: { ...task.ref, runId: crypto.randomUUID() } }
    const ended = submitRayJob(way)(own)
    ended.catch(() => {})
    return { task, ended }
  }

  it('runs one, with its environment and its log, to its end', async () => {
    const { task, ended } = await start({
      entrypoint: `python -c "import os,time; print('hello', os.environ['WHO']); time.sleep(2); print('bye')"`,
      runtimeEnv: '{"env_vars":{"WHO":"world"}}',
      entrypointNumCpus: '0.5',
    })
    await ended
    expect(task.lines).toEqual(expect.arrayContaining(['hello world', 'bye']))
    expect(task.lines.filter((line) => line === 'bye')).toHaveLength(1)
  })

  it('tells how one failed', async () => {
    const { ended } = await start({ entrypoint: `python -c "raise SystemExit('no luck')"` })
    const error = await ended.then(
      () => undefined,
      (reason: Error) => reason,
    )
    expect(error?.message).toContain('the Ray job failed (exit code 1)')
    expect(error?.message).toContain('no luck')
  })

  it('stops one when its task is cancelled', async () => {
    const { task, ended } = await start({
      entrypoint: `python -c "print('begun', flush=True); import time; time.sleep(600)"`,
    })
    await vi.waitFor(() => expect(task.lines).toContain('begun'), { timeout: 60_000, interval: 200 })
    const id = task.lines[0]?.split(' ').at(-1) ?? ''
    task.abort('cancelled')
    await expect(ended).rejects.toThrow()
    const jobs = new RayJobs(address, TOKEN, way)
    await vi.waitFor(
      async () => expect((await jobs.find(id, AbortSignal.timeout(5000)))?.status).toBe('STOPPED'),
      { timeout: 60_000, interval: 500 },
    )
  })

  it('is refused with another token, and without one', async () => {
    for (const args of [{ token: 'another-token-0123456789abcdef0123' }, { token: '' }]) {
      const { ended } = await start({ entrypoint: 'true', ...args })
      await expect(ended).rejects.toThrow(/Ray answers 40[13]/)
    }
  })
})
