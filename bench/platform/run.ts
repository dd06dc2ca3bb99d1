/**
 * How long starts take: `atrium up` on a new data folder, again on the same folder, and a whole test platform on a
 * clone of the template database. The limit beside the last one is the bare clone.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { cloneTemplate, freePort, prepareTestDatabases, TEST_CREDENTIALS } from '@atrium/testing'
import { parseConfig } from '../../apps/server/src/config.ts'
import { startPlatform } from '../../apps/server/src/platform.ts'

const root = path.resolve(import.meta.dirname, '../..')
const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

async function startOnce(dataDir: string, port: number): Promise<number> {
  const began = performance.now()
  const child = spawn(path.join(root, 'node_modules/.bin/atrium'), ['up'], {
    env: { ...process.env, ATRIUM_DATA_DIR: dataDir, ATRIUM_PORT: String(port), ATRIUM_LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => chunk.includes('is ready') && resolve())
    child.once('exit', (code) => reject(new Error(`atrium up ended with ${code}`)))
  })
  const ms = performance.now() - began
  child.removeAllListeners('exit')
  child.kill('SIGINT')
  await once(child, 'exit')
  return ms
}

async function measureCommand(rounds: number): Promise<{ first: number; second: number }> {
  const first: number[] = []
  const second: number[] = []
  for (let round = 0; round < rounds; round++) {
    const dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-bench-'))
    const port = await freePort()
    first.push(await startOnce(dataDir, port))
    second.push(await startOnce(dataDir, port))
    await rm(dataDir, { recursive: true, force: true })
  }
  return { first: median(first), second: median(second) }
}

async function measureTestPlatform(rounds: number): Promise<{ clone: number; whole: number }> {
  const config = async (databaseUrl: string) =>
    parseConfig({
      ...TEST_CREDENTIALS,
      ATRIUM_LOG_LEVEL: 'silent',
      ATRIUM_SANDBOX: 'on',
      ATRIUM_PROBE_LOCAL_MODELS: 'false',
      ATRIUM_BACKGROUND_JOBS: 'false',
      ATRIUM_DATA_DIR: await mkdtemp(path.join(tmpdir(), 'atrium-bench-')),
      ATRIUM_PORT: String(await freePort()),
      DATABASE_URL: databaseUrl,
    })
  const prepared = await prepareTestDatabases(async ({ databaseUrl, ownerUrl }) => {
    await (await startPlatform(await config(databaseUrl), { databaseUrl, ownerUrl })).close()
  })
  const clones: number[] = []
  const wholes: number[] = []
  for (let round = 0; round < rounds; round++) {
    // The copies that are kept ready are made while a test runs; here nothing else runs, so they get a moment.
    await new Promise((resolve) => setTimeout(resolve, 500))
    const began = performance.now()
    const database = await cloneTemplate(prepared.adminUrl)
    clones.push(performance.now() - began)
    const platform = await startPlatform(await config(database.url), { databaseUrl: database.url })
    wholes.push(performance.now() - began)
    await platform.close()
    await database.drop()
  }
  await prepared.close()
  return { clone: median(clones), whole: median(wholes) }
}

const command = await measureCommand(3)
const test = await measureTestPlatform(10)
process.stdout.write(`| What | Median | Limit |
|---|---|---|
| \`atrium up\` on a new data folder, until it is ready | ${(command.first / 1000).toFixed(2)} s | 15 s |
| \`atrium up\` again on that folder | ${(command.second / 1000).toFixed(2)} s | 3 s |
| whole test platform on its own port and database | ${test.whole.toFixed(0)} ms (its database alone: ${test.clone.toFixed(0)} ms) | 200 ms |
`)
