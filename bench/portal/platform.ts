import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { startEmbeddedPostgres } from '@atrium/kernel/db'

const atrium = path.join(import.meta.dirname, '../../apps/server/src/main.ts')

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  if (typeof address !== 'object' || address === null) throw new Error('no port')
  return address.port
}

/** The whole platform as a child process, on an embedded PostgreSQL that this process owns and may query. */
export async function startPlatform() {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-bench-'))
  const postgres = await startEmbeddedPostgres({ dataDir })
  const port = await freePort()
  const env = {
    ...process.env,
    DATABASE_URL: postgres.url,
    ATRIUM_DATA_DIR: dataDir,
    ATRIUM_PORT: String(port),
    ATRIUM_LOG_LEVEL: 'warn',
    ATRIUM_SANDBOX: 'on',
    ATRIUM_PROBE_LOCAL_MODELS: 'false',
    ATRIUM_BOOTSTRAP_USER: 'bench',
  }
  const child = spawn(process.execPath, [atrium, 'up'], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  const url = `http://127.0.0.1:${port}`
  for (let tries = 0; tries < 200; tries++) {
    const ready = await fetch(`${url}/portal/readiness`).then(
      (response) => response.ok,
      () => false,
    )
    if (ready) break
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const { stdout } = await promisify(execFile)(process.execPath, [atrium, 'token', '--user', 'bench'], {
    env,
  })
  const token = stdout.trim()

  async function call(method: string, route: string, body?: unknown): Promise<Record<string, string>> {
    const response = await fetch(`${url}/portal${route}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} ${route}: ${response.status} ${await response.text()}`)
    return (await response.json()) as Record<string, string>
  }

  return {
    url,
    pid: child.pid ?? 0,
    databaseUrl: postgres.url,
    token,
    call,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
      await postgres.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
