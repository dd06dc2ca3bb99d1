import { readFile } from 'node:fs/promises'
import { freePort, startTestPlatform, TEST_CREDENTIALS } from '@atrium/testing'
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../src/config.ts'
import { startPlatform } from '../src/platform.ts'

describe('the platform', () => {
  it('lists its services at its origin and answers 404 elsewhere in JSON', async () => {
    await using platform = await startTestPlatform()
    const index = await platform.call('GET', '/', { unchecked: true })
    expect(index.body.services.map(({ address }: { address: string }) => address)).toEqual([
      '/auth',
      '/portal',
      '/llm',
      '/llm-cn',
      '/agents',
      '/workflows',
    ])
    expect((await platform.call('GET', '/nowhere', { unchecked: true })).body.error.code).toBe(404)
  })

  it('starts only the services that it is told to', async () => {
    await using platform = await startTestPlatform({ env: { ATRIUM_SERVICES: 'identity,portal' } })
    expect((await platform.call('GET', '/portal/health')).status).toBe(200)
    expect((await platform.call('GET', '/llm/v1/models', { unchecked: true })).status).toBe(404)
  })

  it('makes one pair of first credentials when several processes start on a new database at once', async () => {
    await using platform = await startTestPlatform()
    await platform.pool.query(
      'TRUNCATE platform.first_start, identity.principal_ids, identity.accounts, identity.clients CASCADE',
    )
    const others = await Promise.all([
      startTestPlatform({ env: { DATABASE_URL: platform.databaseUrl } }),
      startTestPlatform({ env: { DATABASE_URL: platform.databaseUrl } }),
    ])
    const { rows } = await platform.pool.query('SELECT count(*) AS accounts FROM identity.accounts')
    expect(Number(rows[0].accounts)).toBe(1)
    await Promise.all(others.map((other) => other.close()))
  })

  it('refuses a database whose keys were sealed by another master key, and says so', async () => {
    await using platform = await startTestPlatform()
    const config = parseConfig({
      ...TEST_CREDENTIALS,
      ATRIUM_LOG_LEVEL: 'silent',
      ATRIUM_SANDBOX: 'on',
      ATRIUM_PROBE_LOCAL_MODELS: 'false',
      ATRIUM_DATA_DIR: platform.dataDir,
      ATRIUM_PORT: '1',
      DATABASE_URL: platform.databaseUrl,
      ATRIUM_MASTER_KEY: Buffer.alloc(32, 9).toString('base64'),
    })
    await expect(startPlatform(config, { databaseUrl: platform.databaseUrl })).rejects.toThrow(/master key/i)
  })

  it('refuses a currency that the model catalogue does not have', async () => {
    await expect(startTestPlatform({ env: { ATRIUM_CURRENCY: 'EUR' } })).rejects.toThrow(
      /prices in USD, but ATRIUM_CURRENCY is EUR/,
    )
  })

  it('serves metrics on a port of their own', async () => {
    const port = await freePort()
    await using platform = await startTestPlatform({ env: { ATRIUM_METRICS_PORT: String(port) } })
    await platform.call('GET', '/portal/health')
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    expect(metrics).toContain('atrium_http_request_duration_seconds_bucket')
    expect(metrics).toContain('process_cpu_seconds_total')
  })
})

describe('the README', () => {
  it('names its test command where CI looks for it', async () => {
    const text = await readFile(new URL('../../../README.md', import.meta.url), 'utf8')
    expect(text).toContain('<!-- test command -->\n```sh\nnpm install && npm run verify\n```')
  })
})
