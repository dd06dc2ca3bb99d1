import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { freePort, prepareTestDatabases, TEST_CREDENTIALS } from '@atrium/testing'
import type { TestProject } from 'vitest/node'
import { parseConfig } from '../src/config.ts'
import { startPlatform } from '../src/platform.ts'

/** Starts PostgreSQL once and lets a platform fill the template: migrations, first superuser, signing keys. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const prepared = await prepareTestDatabases(async (databaseUrl) => {
    const dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-test-'))
    const config = parseConfig({
      ATRIUM_LOG_LEVEL: 'error',
      ATRIUM_SANDBOX: 'on',
      ATRIUM_PROBE_LOCAL_MODELS: 'false',
      ATRIUM_DATA_DIR: dataDir,
      ATRIUM_PORT: String(await freePort()),
      DATABASE_URL: databaseUrl,
      ...TEST_CREDENTIALS,
    })
    const platform = await startPlatform(config, { databaseUrl })
    await platform.close()
    await rm(dataDir, { recursive: true, force: true })
  })
  project.provide('databaseAdminUrl', prepared.adminUrl)
  return () => prepared.close()
}
