import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort, startFakeOpenAi, startTestPlatform } from '@atrium/testing'
import { expect, test } from 'vitest'
import { hello } from './platform.ts'

const program = fileURLToPath(new URL('./gateway-process.ts', import.meta.url))

async function start(...args: string[]): Promise<ChildProcess> {
  const child = fork(program, args, { execArgv: [], silent: true })
  await once(child, 'message')
  return child
}

const headers = {
  authorization: 'Bearer ac0c3a3c-0000-4000-8000-000000000000',
  'content-type': 'application/json',
}

/** Calls without pause on 8 connections until the gateway is gone. */
async function load(url: string, counts: { started: number; acknowledged: number }): Promise<void> {
  const body = JSON.stringify(hello)
  const caller = async (): Promise<void> => {
    for (;;) {
      counts.started += 1
      try {
        const answer = await fetch(`${url}/llm/v1/chat/completions`, { method: 'POST', headers, body })
        await answer.arrayBuffer()
        if (answer.status === 200) counts.acknowledged += 1
      } catch {
        return
      }
    }
  }
  await Promise.all(Array.from({ length: 8 }, caller))
}

test('kill -9 under load loses no acknowledged call and counts none twice', {
  timeout: 120_000,
}, async () => {
  await using platform = await startTestPlatform()
  await using fake = await startFakeOpenAi({ keepsRequests: false, models: false })
  await platform.pool.query('CREATE TABLE recorded (requests bigint, tokens bigint)')
  await platform.pool.query('GRANT INSERT ON recorded TO PUBLIC')
  const dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-journal-'))
  const counts = { started: 0, acknowledged: 0 }
  const port = await freePort()
  const args = [platform.databaseUrl, dataDir, fake.url, String(port)]
  for (let round = 0; round < 5; round++) {
    const child = await start(...args)
    const calls = load(`http://127.0.0.1:${port}`, counts)
    await delay(200 + Math.random() * 600)
    child.kill('SIGKILL')
    await Promise.all([calls, once(child, 'exit')])
  }
  // What the last one left is taken over by the next.
  const last = await start(...args)
  last.kill('SIGTERM')
  await once(last, 'exit')

  const { rows } = await platform.pool.query(
    'SELECT sum(requests)::int AS requests, sum(tokens)::int AS tokens FROM recorded',
  )
  expect(counts.acknowledged).toBeGreaterThan(50)
  expect(rows[0].requests).toBeGreaterThanOrEqual(counts.acknowledged)
  expect(rows[0].requests).toBeLessThanOrEqual(counts.started)
  expect(rows[0].tokens).toBe(rows[0].requests * 20)
  expect(await readdir(path.join(dataDir, 'gateway'))).toEqual([])
  const journals = await platform.pool.query('SELECT * FROM gateway.usage_journals WHERE flushed_bytes > 0')
  expect(journals.rows).toHaveLength(0)
  await rm(dataDir, { recursive: true })
})

const FULL_AT_BYTES = 1024

/** The kernel refuses what a file would hold beyond that, as it does on a full disk. */
const limitFiles = (child: ChildProcess, bytes: number | 'unlimited'): void =>
  void execFileSync('prlimit', [`--pid=${child.pid}`, `--fsize=${bytes}:unlimited`])

test.runIf(process.platform === 'linux')(
  'on a full disk calls are served, charged once, and the log says so; what comes afterwards survives a kill',
  async () => {
    await using platform = await startTestPlatform()
    await using fake = await startFakeOpenAi({ keepsRequests: false, models: false })
    await platform.pool.query('CREATE TABLE recorded (requests bigint, tokens bigint)')
    await platform.pool.query('GRANT INSERT ON recorded TO PUBLIC')
    const recorded = async (): Promise<number> => {
      const { rows } = await platform.pool.query('SELECT coalesce(sum(requests), 0)::int AS n FROM recorded')
      return rows[0].n
    }
    const dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-journal-'))
    const port = await freePort()
    const args = [platform.databaseUrl, dataDir, fake.url, String(port)]
    const child = await start(...args)
    let output = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8')
    })
    const call = async (model = 'gpt-4o'): Promise<void> => {
      const body = JSON.stringify({ ...hello, model })
      const url = `http://127.0.0.1:${port}/llm/v1/chat/completions`
      const answer = await fetch(url, { method: 'POST', headers, body })
      await answer.arrayBuffer()
      expect(answer.status).toBe(200)
    }
    let calls = 0
    const callUntilRecorded = async (times: number, model?: string): Promise<void> => {
      for (let n = 0; n < times; n++) await call(model)
      calls += times
      await expect.poll(recorded, { timeout: 10_000 }).toBe(calls)
    }
    limitFiles(child, FULL_AT_BYTES)
    await callUntilRecorded(100)
    const [journal = ''] = (await readdir(path.join(dataDir, 'gateway'))).filter((name) =>
      /jsonl$/.test(name),
    )
    expect((await stat(path.join(dataDir, 'gateway', journal))).size).toBe(FULL_AT_BYTES)
    // Each of these meets a disk that was full before it came; the second model is not even announced.
    await callUntilRecorded(10)
    await callUntilRecorded(10, 'gpt-4o-mini')
    expect(output.match(/the usage journal cannot be written/g)).toHaveLength(1)

    limitFiles(child, 'unlimited')
    await callUntilRecorded(1)
    await platform.pool.query('ALTER SCHEMA gateway RENAME TO away')
    for (const model of ['gpt-4o', 'gpt-4o-mini']) for (let n = 0; n < 10; n++) await call(model)
    child.kill('SIGKILL')
    await once(child, 'exit')
    await platform.pool.query('ALTER SCHEMA away RENAME TO gateway')
    const next = await start(...args)
    next.kill('SIGTERM')
    await once(next, 'exit')
    expect(await recorded()).toBe(calls + 20)
    await rm(dataDir, { recursive: true })
  },
)
