import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it } from 'vitest'
import { freePort, spawnAtrium, stopProcess, waitForOutput } from './processes.ts'

const SECRET = 'W'.repeat(43)

it('sends traces to an OpenTelemetry collector when one is named', async () => {
  const received: { path: string; bytes: Buffer }[] = []
  const collector = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    received.push({ path: request.url ?? '', bytes: Buffer.concat(chunks) })
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(collector, 'listening')
  const dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-telemetry-'))
  const port = await freePort()
  const platform = spawnAtrium(['up'], {
    ATRIUM_DATA_DIR: dataDir,
    ATRIUM_PORT: String(port),
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    OTEL_BSP_SCHEDULE_DELAY: '100',
  })
  try {
    await waitForOutput(platform, /is ready/)
    // Its path is its credential; one that no webhook has is traced like one that a webhook has.
    const webhook = `http://127.0.0.1:${port}/workflows/v1/webhooks/${SECRET}`
    expect((await fetch(webhook, { method: 'POST' })).status).toBe(404)
    expect((await fetch(`http://127.0.0.1:${port}/portal/health`)).status).toBe(200)
    const traces = () =>
      received.filter((one) => one.path === '/v1/traces' && one.bytes.includes('/portal/health'))
    await expect.poll(() => traces().length, { timeout: 15_000 }).toBeGreaterThan(0)
    const all = Buffer.concat(received.map(({ bytes }) => bytes))
    expect([all.includes('/workflows/v1/webhooks/'), all.includes(SECRET)]).toEqual([true, false])
  } finally {
    await stopProcess(platform, 'SIGINT')
    collector.close()
    await rm(dataDir, { recursive: true, force: true })
  }
}, 60_000)
