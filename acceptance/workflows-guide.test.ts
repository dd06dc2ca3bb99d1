import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { clientTokenOf, demandJson } from './callers.ts'
import { finish, freePort, root, stopProcess, waitForOutput } from './processes.ts'
import { whyNoPackage } from './python-index.ts'

const SECRET = 'acceptance-client-secret-0123456789'
const TIMEOUT_MS = 600_000

const guide = await readFile(path.join(root, 'docs/guides/workflows.md'), 'utf8')
const missing = await whyNoPackage(/requirements\.txt <<'EOT'\n(.*)\nEOT/.exec(guide)?.[1] ?? '')
if (missing !== undefined)
  process.stderr.write(`docs/guides/workflows.md is not run, for it installs a Python package: ${missing}\n`)

let folder = ''
let url = ''
let running: ChildProcess | undefined
let blocks: { terminal: string; commands: string }[] = []

beforeAll(async () => {
  if (missing !== undefined) return
  folder = await mkdtemp(path.join(tmpdir(), 'atrium-workflows-'))
  // Tasks may run as other users.
  await chmod(folder, 0o755)
  blocks = [...guide.matchAll(/^```sh(?: terminal=(\w+))?\n([\s\S]*?)^```$/gm)].map(
    ([, terminal = 'second', commands = '']) => ({
      terminal,
      commands: commands.replaceAll('/tmp/', `${folder}/`),
    }),
  )
  const port = await freePort()
  url = `http://127.0.0.1:${port}`
  const env: NodeJS.ProcessEnv = { ...process.env }
  for (const name of Object.keys(env))
    if (/^(ATRIUM_|DATABASE_URL$|NODE_ENV$|VITEST)/.test(name)) delete env[name]
  running = spawn('bash', ['-c', blocks[0]?.commands ?? ''], {
    cwd: root,
    env: {
      ...env,
      ATRIUM_DATA_DIR: path.join(folder, 'data'),
      ATRIUM_PORT: String(port),
      ATRIUM_SANDBOX: 'on',
      ATRIUM_BOOTSTRAP_CLIENT_ID: 'acceptance',
      ATRIUM_BOOTSTRAP_CLIENT_SECRET: SECRET,
    },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  await waitForOutput(running, /Atrium is ready/)
})
afterAll(async () => {
  await stopProcess(running, 'SIGINT')
  if (folder !== '') await rm(folder, { recursive: true, force: true })
})

/** What the quickstart leaves behind. */
async function quickstart(): Promise<{ token: string; spaceId: string }> {
  const token = await clientTokenOf(url, { id: 'acceptance', secret: SECRET })
  const { spaceId } = await demandJson<{ spaceId: string }>(`${url}/portal/v1/spaces`, 'POST', token, {
    spaceName: 'Demo',
    appId: 'APP-1',
  })
  await demandJson(`${url}/portal/v1/spaces/${spaceId}/users`, 'POST', token, {
    qNumber: 'ada',
    name: 'Ada Lovelace',
    mailAddress: 'ada@example.com',
    role: 'owner',
  })
  return { token, spaceId }
}

it.skipIf(missing !== undefined)(
  'docs/guides/workflows.md does what it says, from the first version to production',
  async () => {
    const { token, spaceId } = await quickstart()
    expect(blocks[0]?.terminal).toBe('platform')
    const field = `field() { '${process.execPath}' -p 'JSON.parse(fs.readFileSync(0))[process.argv[1]]' "$1"; }`
    const commands = blocks.slice(1).map((block, at) => `echo "__block ${at}__"\n${block.commands}`)
    const shell = spawn(
      'bash',
      ['--noprofile', '--norc', '-c', ['set -euo pipefail', field, ...commands].join('\n')],
      {
        cwd: root,
        env: {
          ...process.env,
          ATRIUM: url,
          ATRIUM_PORT: new URL(url).port,
          ATRIUM_DATA_DIR: path.join(folder, 'data'),
          SPACE: spaceId,
          M2M_TOKEN: token,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    const { code, output } = await finish(shell)
    expect(code, output).toBe(0)
    const said = (sought: string): string => {
      const at = blocks.slice(1).findIndex((block) => block.commands.includes(sought))
      return output.split(/__block \d+__\n/)[at + 1] ?? ''
    }
    const shown =
      guide.match(/^\/tmp\/repositories\/forecast\/mistakes\.yaml:[\s\S]*?^exit code 1$/m)?.[0] ?? 'nothing'
    expect(said('mistakes.yaml').trim()).toBe(shown.replaceAll('/tmp/', `${folder}/`))
    expect(said('validate /').length).toBeGreaterThan(0)
    expect(output).toContain('workflow.yaml: forecast is valid')
    expect(output).toContain('forecast: 6 created')
    expect(said('run forecast --stage test\n')).toMatch(/train +Succeeded .*\nSucceeded after /s)
    const log = said('logs --follow --task train')
    expect(log).toMatch(/asking for sales with \*\*\*[\s\S]*day 30: 190/)
    expect(output).not.toContain('sales-0123456789abcdef')
    expect(said('workflow runs')).toMatch(/^RUN .*\n\S+ +Succeeded +test +v1 .*\n\S+ +Succeeded +test +v1/)
    expect(JSON.parse(said('metrics?name'))).toMatchObject({
      metrics: [1, 2, 3].map((step) => ({ task: 'train', name: 'sales', step, value: 100 + 3 * step })),
    })
    expect(said('artifacts" ')).toContain('"path":"forecast.txt"')
    expect(said('artifacts/train')).toContain('190')
    expect(said('--to prod')).toMatch(/^prod: nothing -> v1 with configuration prod$/m)
    expect(said('--to prod')).toMatch(/^Succeeded after /m)
    expect(said('SIGNATURE=$(')).toContain('train | day 14: 142')
    expect(said('//[0-9]/0')).toMatch(/"detail":"X-Signature-256/)
    expect(JSON.parse(said('nightly:invoke'))).toMatchObject({ triggerId: 'nightly', stage: 'prod' })
    expect(said('unset ATRIUM_TOKEN')).toMatch(
      /stage +updated +test .*\+version [0-9a-f]{40}[\s\S]*Succeeded after/,
    )
  },
  TIMEOUT_MS,
)
