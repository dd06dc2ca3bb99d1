import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort, startFakeOpenAi, startTestPlatform } from '@atrium/testing'
import { expect, test } from 'vitest'
import { hello } from './platform.ts'

const program = fileURLToPath(new URL('./gateway-process.ts', import.meta.url))

async function start(...args: string[]): Promise<ChildProcess> {
  const child = fork(program, args, { execArgv: [] })
  await once(child, 'message')
  return child
}

/** Calls without pause on 8 connections until the gateway is gone. */
async function load(url: string, counts: { started: number; acknowledged: number }): Promise<void> {
  const body = JSON.stringify(hello)
  const headers = {
    authorization: 'Bearer ac0c3a3c-0000-4000-8000-000000000000',
    'content-type': 'application/json',
  }
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
