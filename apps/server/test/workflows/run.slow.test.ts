import { execFile, spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { finish, startHarness } from '../import/harness.ts'

// Each test starts processes, on machines that may have other things to do.
vi.setConfig({ testTimeout: 180_000 })

const SCRIPT = `import sys, time
what = sys.argv[1]
print('begins with ' + what, flush=True)
if what == 'fail':
    print('cannot go on', flush=True)
    sys.exit(3)
if what == 'hang':
    time.sleep(600)
for n in range(3):
    print('line', n, flush=True)
`

let at: Awaited<ReturnType<typeof startHarness>>
let env: Record<string, string> = {}
let repositories = ''
beforeAll(async () => {
  repositories = await mkdtemp(path.join(tmpdir(), 'atrium-repositories-'))
  // Tasks may run as other users.
  await chmod(repositories, 0o755)
  at = await startHarness({
    ATRIUM_ENGINE: 'local',
    ATRIUM_BACKGROUND_JOBS: 'true',
    ATRIUM_WORKFLOWS_FILE_REPOSITORIES: repositories,
  })
  env = { ATRIUM_TOKEN: at.space.memberToken, ATRIUM_SPACE: at.space.spaceId }
  const repository = path.join(repositories, 'runs')
  await mkdir(repository)
  await writeFile(path.join(repository, 'main.py'), SCRIPT)
  const git = (...args: string[]) =>
    promisify(execFile)('git', [
      '-C',
      repository,
      '-c',
      'user.name=A',
      '-c',
      'user.email=a@example.com',
      ...args,
    ])
  await git('init', '-q', '-b', 'main')
  await git('add', '.')
  await git('commit', '-qm', 'first')
  await at.files({
    'runs.yaml': `id: runs
name: Runs
versions:
  v1:
    tasks:
      - name: code
        templateRef: {name: fetch-git-code, version: v1}
        arguments: {repository: "file://${repository}"}
      - name: main
        templateRef: {name: run-python-code, version: v1}
        arguments: {script: main.py, args: "\${config.WHAT}"}
        dependencies: [code]
configurations:
  test: {WHAT: work}
stages:
  test: {versionId: v1, configurationId: test}
`,
  })
  const { code, stderr } = await atrium('push', 'runs.yaml')
  if (code !== 0) throw new Error(stderr)
})
afterAll(async () => {
  await at[Symbol.asyncDispose]()
  await rm(repositories, { recursive: true, force: true })
})
beforeEach(() => {
  at.proxy.requests.length = 0
  at.proxy.intercept = () => undefined
})

const atrium = (...args: string[]) => at.run(['workflow', ...args], env)

const statusOf = async (runId: string): Promise<string> =>
  (
    await at.platform.call('GET', `/workflows/v1/spaces/${at.space.spaceId}/workflows/runs/runs/${runId}`, {
      token: at.space.memberToken,
    })
  ).body.status as string

const RUN = /Run runs\/(\S+) of version v1 in test/
const runIn = (stdout: string): string => RUN.exec(stdout)?.[1] ?? ''

/** Waits until a process has said something. */
const said = (child: ReturnType<typeof at.start>, sought: RegExp): Promise<string> => {
  let text = ''
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8')
      if (sought.test(text)) resolve(text)
    })
    child.once('close', () => reject(new Error(`ended before ${sought}:\n${text}`)))
  })
}

test('run follows a run to its end, task by task', async () => {
  const { code, stdout, stderr } = await atrium('run', 'runs', '--stage', 'test')
  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' })
  const lines = stdout.trim().split('\n')
  expect(lines[0]).toMatch(RUN)
  expect(lines).toContainEqual(expect.stringMatching(/^code +Succeeded +\d+\.\d s$/))
  expect(lines.at(-2)).toMatch(/^main +Succeeded +\d+\.\d s$/)
  expect(lines.at(-1)).toMatch(/^Succeeded after \d+\.\d s$/)
  // Without a terminal nothing is drawn anew.
  expect(stdout).not.toContain('\r')
})

test('a failed run shows why, and exits with 1', async () => {
  const { code, stdout } = await atrium('run', 'runs', '--stage', 'test', '--set', 'WHAT=fail')
  expect(code).toBe(1)
  expect(stdout).toMatch(/^main +Failed +\d+\.\d s$/m)
  expect(stdout).toMatch(/^ {4}cannot go on$/m)
  expect(stdout).toMatch(/^Failed after \d+\.\d s/m)
  expect(stdout).toContain(`atrium workflow logs runs/${runIn(stdout)} --task main`)
})

test('Ctrl-C cancels the run and exits with 130', async () => {
  const child = at.start(['workflow', 'run', 'runs', '--stage', 'test', '--set', 'WHAT=hang'], env)
  const ended = finish(child)
  const text = await said(child, /^main +Running/m)
  child.kill('SIGINT')
  const { code, stdout } = await ended
  expect(code, stdout).toBe(130)
  expect(stdout).toMatch(/^Cancelled after/m)
  expect(await statusOf(runIn(text))).toBe('Cancelled')
})

test('a second Ctrl-C leaves the run to itself', async () => {
  const child = at.start(['workflow', 'run', 'runs', '--stage', 'test', '--set', 'WHAT=hang'], env)
  const ended = finish(child)
  const text = await said(child, /^main +Running/m)
  // The platform is slow to answer, so there is time.
  let reached = () => {}
  const cancelling = new Promise<void>((resolve) => {
    reached = resolve
  })
  at.proxy.intercept = ({ path: where }) => {
    if (!where.endsWith(':cancel')) return undefined
    reached()
    return new Promise(() => {})
  }
  child.kill('SIGINT')
  await cancelling
  child.kill('SIGINT')
  expect((await ended).code).toBe(130)
  expect(await statusOf(runIn(text))).toBe('Running')
  await at.platform.call(
    'POST',
    `/workflows/v1/spaces/${at.space.spaceId}/workflows/runs/runs/${runIn(text)}:cancel`,
    { token: at.space.memberToken },
  )
})

test('a request whose answer was lost starts no second run', async () => {
  let broken = 0
  at.proxy.intercept = ({ method, path: where }) => {
    if (method !== 'POST' || !where.includes('/runs?') || broken === 2) return undefined
    broken += 1
    return 'break-after'
  }
  const before = JSON.parse((await atrium('runs', 'runs', '--json')).stdout).total
  const { code, stdout } = await atrium('run', 'runs', '--stage', 'test')
  expect(code, stdout).toBe(0)
  expect(broken).toBe(2)
  expect(JSON.parse((await atrium('runs', 'runs', '--json')).stdout).total).toBe(before + 1)
})

test('a detached run is followed by its log, which survives a broken connection', async () => {
  const detached = await atrium('run', 'runs', '--stage', 'test', '--detach', '--json')
  const { runId } = JSON.parse(detached.stdout)
  let broken = 0
  at.proxy.intercept = ({ path: where }) => {
    if (!where.includes('/logs') || broken > 0) return undefined
    broken += 1
    return 'break-after'
  }
  const { code, stdout } = await atrium('logs', '--follow', `runs/${runId}`)
  expect(code).toBe(0)
  expect(broken).toBe(1)
  const lines = stdout.split('\n').filter((line) => line.startsWith('main | '))
  expect(lines).toEqual(['begins with work', 'line 0', 'line 1', 'line 2'].map((line) => `main | ${line}`))
  expect(await statusOf(runId)).toBe('Succeeded')
  // By the id alone, and one task alone.
  const again = await atrium('logs', runId, '--task', 'main')
  expect(again.stdout).toBe('begins with work\nline 0\nline 1\nline 2\n')
  // The newest run of the workflow.
  expect((await atrium('logs', 'runs', '--task', 'main')).stdout).toBe(again.stdout)
})

test('runs are listed, newest first, and filtered', async () => {
  await atrium('run', 'runs', '--stage', 'test', '--set', 'WHAT=fail')
  const { stdout } = await atrium('runs', 'runs', '--limit', '1')
  const [head, newest, rest] = stdout.split('\n')
  expect(head).toMatch(/^RUN +STATUS +STAGE +VERSION +CREATED +TOOK$/)
  expect(newest).toMatch(/^\S{36} +Failed +test +v1 +\d{4}-\S+Z +\d+\.\d s$/)
  expect(rest).toMatch(/^1 of \d+$/)
  const failed = JSON.parse((await atrium('runs', 'runs', '--status', 'Failed', '--json')).stdout)
  expect(new Set(failed.runs.map(({ status }: { status: string }) => status))).toEqual(new Set(['Failed']))
})

test('on a terminal a line lives below', async () => {
  const bin = path.resolve(import.meta.dirname, '../../bin/atrium.js')
  const command = `'${process.execPath}' '${bin}' workflow run runs --stage test`
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    env: { ...process.env, ...env, ATRIUM_URL: at.platform.url, TERM: 'xterm' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { code, stdout } = await finish(child)
  expect(code, stdout).toBe(0)
  expect(stdout).toMatch(/\r(?:Pending|Running) \d+\.\d s {2}\d of 2 tasks done/)
  expect(stdout).toContain('\r\u001b[KSucceeded after')
})

test.each([
  ['a workflow that is not there', ['run', 'none', '--stage', 'test'], /not found/i],
  ['a stage without a version', ['run', 'runs', '--stage', 'prod'], /prod/],
  ['a run that is not there', ['logs', '0198c0de-0000-7000-8000-000000000000'], /No workflow/],
  ['a task that is not there', ['logs', 'runs', '--task', 'none'], /none/],
])('%s is told in a line', async (_name, args, message) => {
  const { code, stdout, stderr } = await atrium(...args)
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(message)
  expect(stderr.trim().split('\n')).toHaveLength(1)
})
