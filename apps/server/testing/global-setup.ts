import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { freePort, prepareTestDatabases, TEST_CREDENTIALS } from '@atrium/testing'
import type { TestProject } from 'vitest/node'
import { parseConfig } from '../src/config.ts'
import { startPlatform } from '../src/platform.ts'

/** For `npm run conformance`: what the contracts promise, and what the tests saw. */
export const CONFORMANCE_DIR = path.resolve(import.meta.dirname, '../../../node_modules/.cache/atrium')
/** What the tests of one project (`fast`, `slow`) saw. */
export const observedFile = (project: string): string =>
  path.join(CONFORMANCE_DIR, `observed-${project}.jsonl`)
const ADDRESSES = {
  identity: 'auth',
  portal: 'portal',
  gateway: 'llm',
  agents: 'agents',
  workflows: 'workflows',
}

async function saveContracts(url: string): Promise<void> {
  await mkdir(CONFORMANCE_DIR, { recursive: true })
  for (const [service, address] of Object.entries(ADDRESSES)) {
    const document = await (await fetch(`${url}/${address}/openapi.json`)).text()
    await writeFile(path.join(CONFORMANCE_DIR, `${service}.openapi.json`), document)
  }
}

/** Starts PostgreSQL once and lets a platform fill the template: migrations, first superuser, signing keys. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const prepared = await prepareTestDatabases(async ({ databaseUrl, ownerUrl }) => {
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
    const platform = await startPlatform(config, { databaseUrl, ownerUrl })
    await saveContracts(platform.url)
    await platform.close()
    await rm(dataDir, { recursive: true, force: true })
  })
  const observed = observedFile(project.name)
  await writeFile(observed, '')
  project.provide('databaseAdminUrl', prepared.adminUrl)
  project.provide('observedFile', observed)
  return () => prepared.close()
}
