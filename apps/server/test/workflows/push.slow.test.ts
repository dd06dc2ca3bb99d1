import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { startHarness } from '../import/harness.ts'

// Each test starts processes, on machines that may have other things to do.
vi.setConfig({ testTimeout: 180_000 })

let at: Awaited<ReturnType<typeof startHarness>>
beforeAll(async () => {
  at = await startHarness()
})
afterAll(() => at[Symbol.asyncDispose]())
beforeEach(() => {
  at.proxy.requests.length = 0
  at.proxy.intercept = () => undefined
})

const atrium = (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
  at.run(['workflow', ...args], {
    ATRIUM_TOKEN: at.space.memberToken,
    ATRIUM_SPACE: at.space.spaceId,
    ...more,
  })

const onPlatform = async (below: string) =>
  (
    await at.platform.call('GET', `/workflows/v1/spaces/${at.space.spaceId}/workflows/${below}`, {
      token: at.space.memberToken,
    })
  ).body

const FILE = `# yaml-language-server: $schema=workflow.schema.json
id: forecast
name: Forecast
maxParallelRuns: 2
versions:
  v1:
    tasks:
      - name: code
        templateRef: {name: fetch-git-code, version: v1}
        arguments: {repository: "https://git.example/forecast.git", revision: "\${env.REVISION}"}
      - name: train
        templateRef: {name: run-python-code, version: v1}
        arguments:
          script: train.py
          args: --days \${config.DAYS}
          timeoutSeconds: 600
          env: {TOKEN: "\${secret.TOKEN}"}
        dependencies: [code]
configurations:
  test: {DAYS: 7}
  int: {DAYS: 30}
stages:
  test: {versionId: v1, configurationId: test}
triggers:
  nightly: {type: schedule, stage: test, config: {schedule: "0 3 * * *", timezone: Europe/Berlin}}
`
const REVISION = { REVISION: 'main' }

async function fileOf(text: string, name = 'workflow.yaml'): Promise<string> {
  await at.files({ [name]: text })
  return name
}

/** Files of their own, so that tests do not depend on each other. */
const named = (id: string, text = FILE): string => text.replace('id: forecast', `id: ${id}`)

const outcomes = (stdout: string): string[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => line.replace(/ {2,}/g, ' '))

test('push makes what a file says, says what it did, and does it once', async () => {
  const file = await fileOf(FILE)
  const first = await atrium(['push', file], REVISION)
  expect(first).toMatchObject({ code: 0, stderr: '' })
  expect(outcomes(first.stdout)).toEqual([
    'workflow created forecast',
    'version created v1',
    'configuration created test',
    'configuration created int',
    'stage created test',
    'trigger created nightly',
    'forecast: 6 created',
  ])
  expect(await onPlatform('forecast')).toMatchObject({ name: 'Forecast', maxParallelRuns: 2 })
  const version = await onPlatform('forecast/versions/v1')
  expect(version.tasks[0].arguments).toMatchObject({ revision: 'main' })
  expect(version.tasks[1].arguments).toEqual({
    script: 'train.py',
    args: '--days ${config.DAYS}',
    timeoutSeconds: '600',
    env: '{"TOKEN":"${secret.TOKEN}"}',
  })
  expect(await onPlatform('forecast/configurations/test')).toMatchObject({ data: { DAYS: '7' } })
  expect(await onPlatform('forecast/stages/test')).toMatchObject({ versionId: 'v1', configurationId: 'test' })

  at.proxy.requests.length = 0
  const second = await atrium(['push', file], REVISION)
  expect(second.code).toBe(0)
  expect(outcomes(second.stdout).at(-1)).toBe('forecast: 6 unchanged')
  expect(at.proxy.requests.filter(({ method }) => method !== 'GET')).toEqual([])
})

test('push says what it changes; a dry run changes nothing', async () => {
  const file = await fileOf(named('changes'), 'changes.yaml')
  await atrium(['push', file], REVISION)
  const changed = named('changes')
    .replace('name: Forecast', 'name: Sales')
    .replace('{DAYS: 7}', '{DAYS: 8, MORE: x}')
    .replace('versionId: v1, configurationId: test', 'versionId: v1, configurationId: int')
    .replace('0 3 * * *', '0 4 * * *')
    .replace('train.py', 'predict.py')
  await fileOf(changed, 'changes.yaml')
  const expected = [
    'workflow updated changes ~name',
    'version updated v1 ~train',
    'configuration updated test ~DAYS +MORE',
    'configuration unchanged int',
    'stage updated test -configuration test +configuration int',
    'trigger updated nightly ~schedule',
  ]
  const dry = await atrium(['push', '--dry-run', file], REVISION)
  expect(outcomes(dry.stdout)).toEqual([...expected, 'changes: 5 updated, 1 unchanged (nothing was stored)'])
  expect(await onPlatform('changes')).toMatchObject({ name: 'Forecast' })
  const done = await atrium(['push', file], REVISION)
  expect(outcomes(done.stdout)).toEqual([...expected, 'changes: 5 updated, 1 unchanged'])
  expect(await onPlatform('changes/configurations/test')).toMatchObject({ data: { DAYS: '8', MORE: 'x' } })
})

test('every mistake in tasks and references is told with its line, and nothing is stored', async () => {
  const broken = named('broken')
    .replace('run-python-code, version: v1', 'run-python-code, version: 1.2.3')
    .replace('dependencies: [code]', 'dependencies: [cod]')
    .replace('repository: "https', 'depth: much, repository: "https')
    .replace('{versionId: v1, configurationId: test}', '{versionId: v9, configurationId: tset}')
  const file = await fileOf(broken, 'broken.yaml')
  for (const command of ['validate', 'push']) {
    const { code, stdout, stderr } = await atrium([command, file], REVISION)
    expect({ code, stdout }, stderr).toEqual({ code: 1, stdout: '' })
    expect(stderr.trim().split('\n')).toEqual([
      expect.stringMatching(/^broken\.yaml:10:21: versions\.v1: task "code": depth: /),
      expect.stringMatching(/^broken\.yaml:12:9: versions\.v1: task "train": .*"1\.2\.3"/),
      expect.stringMatching(/^broken\.yaml:18:9: versions\.v1: task "train": depends on "cod"/),
      expect.stringMatching(/^broken\.yaml:23:10: stages\.test\.versionId: "v9" stands neither/),
      expect.stringMatching(/^broken\.yaml:23:25: stages\.test\.configurationId: "tset" stands neither/),
    ])
  }
  expect(await onPlatform('broken')).toMatchObject({ detail: expect.stringContaining('not found') })
})

test('what the platform refuses while storing is told with its line; the rest is stored', async () => {
  const file = await fileOf(
    named('refused').replace('versionId: v1, configurationId: test', 'versionId: v1'),
    'refused.yaml',
  )
  const { code, stdout, stderr } = await atrium(['push', file], REVISION)
  expect(code).toBe(1)
  expect(stderr).toMatch(/^refused\.yaml:25:3: triggers\.nightly: .*The stage test has no assignment of both/)
  expect(outcomes(stdout)).toContain('trigger refused nightly')
  expect(outcomes(stdout)).toContain('stage created test')
})

test('a pipeline names the version by its commit, and the stage follows', async () => {
  const file = await fileOf(named('pipeline'), 'pipeline.yaml')
  const push = (commit: string) => atrium(['push', '--version', commit, file], { REVISION: commit })
  await push('4f5e6d7')
  const { code, stdout } = await push('8a9b0c1')
  expect(code).toBe(0)
  expect(outcomes(stdout)).toContain('version created 8a9b0c1')
  expect(outcomes(stdout)).toContain('stage updated test -version 4f5e6d7 +version 8a9b0c1')
  const version = await onPlatform('pipeline/versions/8a9b0c1')
  expect(version.tasks[0].arguments.revision).toBe('8a9b0c1')
  expect(await onPlatform('pipeline/versions/4f5e6d7')).toMatchObject({ versionId: '4f5e6d7' })
})

test('validate stores nothing, not even for a workflow that is new', async () => {
  const file = await fileOf(named('valid'), 'valid.yaml')
  expect(await atrium(['validate', file], REVISION)).toMatchObject({
    code: 0,
    stdout: 'valid.yaml: valid is valid\n',
  })
  expect(at.proxy.requests.filter(({ method }) => method === 'PUT')).toEqual([])
})

test('the address of a webhook goes to a file, and not into the log of a pipeline', async () => {
  const text = `id: hooked\nname: Hooked\ntriggers:\n  hook: {type: webhook, stage: test, config: {signatureValidation: true}}\n`
  const file = await fileOf(text, 'hooked.yaml')
  const { code, stdout, stderr } = await atrium(['push', '--webhooks-to', 'hooks.json', file])
  expect(code, stderr).toBe(0)
  const hooks = JSON.parse(await readFile(path.join(at.folder, 'hooks.json'), 'utf8'))
  expect(hooks.hook).toMatch(/\/workflows\/v1\/webhooks\/.{40,}/)
  expect(stdout + stderr).not.toContain(hooks.hook)
  await fileOf(text.replaceAll('hooked', 'hooked-2'), 'hooked-2.yaml')
  const silent = await atrium(['push', 'hooked-2.yaml'])
  expect(silent.stderr).toContain('--webhooks-to')
  expect(silent.stdout + silent.stderr).not.toContain('/v1/webhooks/')
})

test('promote moves the version; a configuration comes along only when it is asked for', async () => {
  const file = await fileOf(named('promoted'), 'promoted.yaml')
  await atrium(['push', file], REVISION)
  const promote = (...args: string[]) => atrium(['promote', 'promoted', ...args])
  const unclear = await promote('--from', 'test', '--to', 'int')
  expect(unclear.code).toBe(1)
  expect(unclear.stderr).toContain('--configuration')
  expect(await promote('--from', 'test', '--to', 'int', '--configuration', 'int')).toMatchObject({
    code: 0,
    stdout: 'int: nothing -> v1 with configuration int\n',
  })
  await atrium(['push', '--version', 'v2', file], REVISION)
  expect((await promote('--from', 'test', '--to', 'int')).stdout).toBe(
    'int: v1 -> v2 with configuration int\n',
  )
  expect((await promote('--from', 'test', '--to', 'int')).stdout).toBe(
    'int: v2 with configuration int, unchanged\n',
  )
  expect(await promote('--from', 'e2e', '--to', 'prod')).toMatchObject({ code: 1 })
})

test('a machine client is as good as a token, and both are looked for', async () => {
  const clients = '/portal/v1/admin/clients'
  const token = at.platform.superuser.token
  const body = { name: 'CI', environment: 'int', grants: [{ spaceId: at.space.spaceId, role: 'member' }] }
  const { clientId } = (await at.platform.call('POST', clients, { token, body })).body
  const { clientSecret } = (await at.platform.call('POST', `${clients}/${clientId}:approve`, { token })).body
  const file = await fileOf(named('machine'), 'machine.yaml')
  const machine = { ATRIUM_TOKEN: '', ATRIUM_CLIENT_ID: clientId, ATRIUM_CLIENT_SECRET: clientSecret }
  expect(await atrium(['push', file], { ...REVISION, ...machine })).toMatchObject({ code: 0, stderr: '' })
  const wrong = await atrium(['push', file], { ...REVISION, ...machine, ATRIUM_CLIENT_SECRET: 'wrong' })
  expect(wrong).toMatchObject({ code: 1, stdout: '' })
  expect(wrong.stderr).toContain('invalid_client')
  expect(wrong.stderr).not.toContain('at ')
})

test.each([
  ['no token', ['validate', 'valid.yaml'], { ATRIUM_TOKEN: '' }, /ATRIUM_TOKEN/],
  ['no space', ['validate', 'valid.yaml'], { ATRIUM_SPACE: '' }, /ATRIUM_SPACE/],
  ['an unknown stage', ['run', 'x', '--stage', 'production'], {}, /test, int, e2e, prod/],
  ['a value without its key', ['run', 'x', '--stage', 'test', '--set', '=1'], {}, /KEY=VALUE/],
])('%s is wrong use', async (_name, args, env, message) => {
  await fileOf(named('valid'), 'valid.yaml')
  const { code, stderr } = await atrium(args, env)
  expect(stderr).toMatch(message)
  expect(code).toBe(2)
})
