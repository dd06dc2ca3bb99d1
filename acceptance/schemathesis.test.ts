import { execFile, execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startTestPlatform, type TestPlatform } from '@atrium/testing'
import { describe, expect, it } from 'vitest'
import { root } from './processes.ts'

/** How long each service is tested beside the phases that end by themselves; all of them at once. */
const SECONDS = Number(process.env.ATRIUM_SCHEMATHESIS_SECONDS ?? 120)

/** The same cases each time, as far as the machine gets: a failure comes from a change, not from luck. */
const SEED = process.env.ATRIUM_SCHEMATHESIS_SEED ?? '1'

/** Undefined where Python packages cannot be had. */
function findSchemathesis(): string | undefined {
  try {
    return execFileSync(path.join(root, 'scripts/get-schemathesis.sh'), { encoding: 'utf8' }).trim()
  } catch {
    return undefined
  }
}

const schemathesis = findSchemathesis()

interface Report {
  readonly complete: boolean
  readonly phases: Readonly<Record<string, { readonly status: string }>>
  readonly test_cases: { readonly generated: number }
  readonly failures: readonly { readonly title: string; readonly operations: readonly string[] }[]
  readonly errors: readonly unknown[]
}

/** Who calls, and in which space: with as many rights as there are, so that calls get past the guard. */
async function callerOf(service: string, platform: TestPlatform) {
  const space = await platform.space()
  if (service === 'llm') return { token: space.apiKey, spaceId: space.spaceId }
  if (service === 'agents' || service === 'workflows')
    return { token: space.ownerToken, spaceId: space.spaceId }
  // Without an account, so that no call can disable it.
  const person = { qNumber: 'qx-tester', name: 'Tester', mailAddress: 'tester@example.test' }
  const made = await platform.call('POST', '/portal/v1/admin/superuser', {
    token: platform.superuser.token,
    body: person,
  })
  expect(made.status).toBe(201)
  return {
    token: await platform.userToken({ qxId: person.qNumber, name: person.name }),
    spaceId: space.spaceId,
  }
}

/** Run apart: on a slow machine the first phases would leave no time to the last. */
const RUNS = [
  { phases: ['examples', 'coverage'], limit: [] },
  { phases: ['fuzzing'], limit: ['--max-time', String(SECONDS / 2)] },
  { phases: ['stateful'], limit: ['--max-time', String(SECONDS / 2)] },
] as const

/** @returns its report, and all that it printed */
async function run(
  url: string,
  caller: { token: string; spaceId: string },
  { phases, limit }: (typeof RUNS)[number],
) {
  const folder = await mkdtemp(path.join(tmpdir(), 'atrium-schemathesis-'))
  const file = path.join(folder, 'report.json')
  const output = await new Promise<string>((resolve) => {
    execFile(
      schemathesis ?? '',
      [
        ['--config-file', path.join(root, 'acceptance/schemathesis.toml')],
        ['run', `${url}/openapi.json`, '--header', `Authorization: Bearer ${caller.token}`],
        ['--phases', phases.join(','), ...limit, '--seed', SEED, '--no-color'],
        ['--report', 'json', '--report-json-path', file],
      ].flat(),
      { cwd: folder, env: { ...process.env, ATRIUM_SPACE: caller.spaceId }, maxBuffer: 64 * 1024 * 1024 },
      (_error, stdout, stderr) => resolve(stdout + stderr),
    )
  })
  const report = JSON.parse(await readFile(file, 'utf8').catch(() => 'null')) as Report | null
  await rm(folder, { recursive: true, force: true })
  return { report, output }
}

describe.skipIf(schemathesis === undefined)('schemathesis (skipped without Python packages)', () => {
  it.concurrent.each(['auth', 'portal', 'llm', 'agents', 'workflows'])(
    'finds no failure in /%s',
    { timeout: SECONDS * 3000 + 300_000 },
    async (service) => {
      // One for each: what is done to the spaces of one service would be missing in the tests of another.
      await using platform = await startTestPlatform()
      const caller = await callerOf(service, platform)
      for (const one of RUNS) {
        const { report, output } = await run(`${platform.url}/${service}`, caller, one)
        expect(report?.failures, output).toEqual([])
        expect(report?.errors, output).toEqual([])
        expect(report?.test_cases.generated, output).toBeGreaterThan(10)
        // Examples are there where a contract has some.
        const ran = one.phases
          .filter((phase) => phase !== 'examples')
          .map((phase) => report?.phases[phase]?.status)
        expect(ran, output).not.toContain('skip')
        expect(ran, output).not.toContain(undefined)
      }
    },
  )
})
