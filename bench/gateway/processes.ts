// Starts and ends the processes of the benchmarks, and the platform with a space and a key.
import { type ChildProcess, execFile, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from '@atrium/testing'

const here = path.dirname(fileURLToPath(import.meta.url))
const command = path.resolve(here, '../../apps/server/src/main.ts')
const run = promisify(execFile)

export { freePort }

/** A script of this folder as a process of its own, once it says that it is ready. */
export async function startScript(name: string, ...args: string[]): Promise<ChildProcess> {
  const child = fork(path.join(here, name), args, { execArgv: [] })
  await once(child, 'message')
  return child
}

/** Runs a script of this folder to its end; what it prints is JSON. */
export async function runScript<Result>(name: string, options: object): Promise<Result> {
  const { stdout } = await run(process.execPath, [path.join(here, name), JSON.stringify(options)])
  return JSON.parse(stdout) as Result
}

export async function waitFor(url: string): Promise<void> {
  for (let waited = 0; waited < 60_000; waited += 100) {
    if (
      await fetch(url).then(
        () => true,
        () => false,
      )
    )
      return
    await delay(100)
  }
  throw new Error(`${url} does not answer`)
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

export interface BenchPlatform {
  readonly port: number
  readonly process: ChildProcess
  readonly apiKey: string
  readonly spaceId: string
  readonly userToken: string
}

/** `atrium up` with everything on (keys, limits, usage, costs), a space, and a key of it. */
export async function startPlatform(dataDir: string, upstreamPort: number): Promise<BenchPlatform> {
  const port = await freePort()
  const env = {
    ...process.env,
    NODE_ENV: 'production',
    ATRIUM_DATA_DIR: dataDir,
    ATRIUM_PORT: String(port),
    ATRIUM_LOG_LEVEL: 'warn',
    ATRIUM_GATEWAY_RATE_LIMIT: '100000000',
    OPENAI_BASE_URL: `http://127.0.0.1:${upstreamPort}/v1`,
    OPENAI_API_KEY: 'sk-operator',
  }
  const child = spawn(process.execPath, [command, 'up'], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  const url = `http://127.0.0.1:${port}`
  await waitFor(`${url}/llm/v1/models`)
  const { stdout } = await run(process.execPath, [command, 'token', '--user', 'admin'], { env })
  const userToken = stdout.trim().split('\n').at(-1) ?? ''
  const post = async (at: string, body: object): Promise<Record<string, string>> => {
    const answer = await fetch(`${url}/portal/v1/spaces${at}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${userToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return (await answer.json()) as Record<string, string>
  }
  const { spaceId = '' } = await post('', { spaceName: 'bench', appId: 'APP-1' })
  const { apiKeyValue: apiKey = '' } = await post(`/${spaceId}/apikeys`, { name: 'bench' })
  return { port, process: child, apiKey, spaceId, userToken }
}

/** Resident memory of a process in MiB, and the CPU time it has used in seconds; Linux only. */
export async function usageOf(pid: number): Promise<{ rssMiB: number; cpuSeconds: number }> {
  const [statm, stat] = await Promise.all([
    readFile(`/proc/${pid}/statm`, 'utf8'),
    readFile(`/proc/${pid}/stat`, 'utf8'),
  ])
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return {
    rssMiB: (Number(statm.split(' ')[1]) * 4096) / 2 ** 20,
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100,
  }
}

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
