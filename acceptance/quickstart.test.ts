import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startFakeOpenAi } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort, stopProcess, waitForOutput } from './processes.ts'

const root = path.resolve(import.meta.dirname, '..')

interface Block {
  readonly terminal: string
  readonly commands: string
}

/** The shell blocks of the document, in order. */
async function readBlocks(): Promise<Block[]> {
  const text = await readFile(path.join(root, 'docs/quickstart.md'), 'utf8')
  return [...text.matchAll(/^```sh(?: terminal=(\w+))?\n([\s\S]*?)^```$/gm)].map((match) => ({
    terminal: match[1] ?? 'second',
    commands: match[2] ?? '',
  }))
}

/** A bash that stays open, as a person's terminal does: variables last from one block to the next. */
class Terminal {
  readonly #shell: ChildProcess
  #output = ''

  constructor(env: NodeJS.ProcessEnv) {
    this.#shell = spawn('bash', ['--noprofile', '--norc'], {
      cwd: root,
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    for (const stream of [this.#shell.stdout, this.#shell.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.#output += chunk.toString('utf8')
      })
    }
  }

  /** Types the block, and `pasted` after it for commands that read. @returns what it printed, and the exit code */
  async run(commands: string, pasted: readonly string[] = []): Promise<{ code: number; output: string }> {
    this.#output = ''
    const lines = pasted.length === 0 ? commands : interleave(commands, pasted)
    this.#shell.stdin?.write(`${lines}\necho "__code:$?__"\n`)
    await expect.poll(() => this.#output, { timeout: 60_000, interval: 20 }).toContain('__code:')
    const [output = '', code = ''] = this.#output.split('__code:')
    return { code: Number.parseInt(code, 10), output }
  }

  close(): void {
    this.#shell.kill()
  }
}

/** Each `read` takes the next pasted line from the same input, right behind its command. */
const interleave = (commands: string, pasted: readonly string[]): string =>
  commands
    .trim()
    .split('\n')
    .flatMap((command, index) => [command, pasted[index] ?? ''])
    .join('\n')

describe.each([
  { backend: 'the labelled sandbox', text: '[sandbox]' },
  { backend: 'an OpenAI-compatible server', text: 'Hello from the fake server.' },
])('docs/quickstart.md with $backend', ({ backend, text }) => {
  let dataDir = ''
  let platform: ChildProcess
  let printed = ''
  let terminal: Terminal
  let blocks: Block[]
  let closeFake = async () => {}

  beforeAll(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-quickstart-'))
    blocks = await readBlocks()
    const env: NodeJS.ProcessEnv = {
      ...process.env,
      ATRIUM_DATA_DIR: dataDir,
      ATRIUM_PORT: String(await freePort()),
      ATRIUM_PROBE_LOCAL_MODELS: 'false',
    }
    for (const name of ['DATABASE_URL', 'OPENAI_API_KEY', 'OPENAI_BASE_URL', 'NODE_ENV']) delete env[name]
    if (backend !== 'the labelled sandbox') {
      const fake = await startFakeOpenAi()
      env.OPENAI_BASE_URL = fake.url
      env.OPENAI_API_KEY = 'sk-upstream'
      closeFake = () => fake.close()
    }
    platform = spawn('bash', ['-c', blocks[0]?.commands ?? ''], { cwd: root, env, detached: true })
    printed = await waitForOutput(platform, /client secret\s+\S+/)
    terminal = new Terminal(env)
  }, 120_000)

  afterAll(async () => {
    terminal?.close()
    await stopProcess(platform, 'SIGINT')
    await closeFake()
    await rm(dataDir, { recursive: true, force: true })
  })

  it('runs command by command as it stands', async () => {
    expect(blocks[0]?.terminal).toBe('platform')
    const clientId = /client id\s+(\S+)/.exec(printed)?.[1] ?? ''
    const clientSecret = /client secret\s+(\S+)/.exec(printed)?.[1] ?? ''
    const outputs: string[] = []
    for (const { commands } of blocks.slice(1)) {
      const pasted = commands.startsWith('read ') ? [clientId, clientSecret] : []
      const { code, output } = await terminal.run(commands, pasted)
      expect(code, `${commands}\n${output}`).toBe(0)
      outputs.push(output)
    }
    const [, , , , owner = '', , plain = '', streamed = '', client = '', , report = ''] = outputs
    expect(JSON.parse(owner)).toMatchObject({ qNumber: 'ada', role: 'owner' })
    expect(JSON.parse(plain).choices[0].message.content).toContain(text)
    expect(streamed.trim().split('\n').at(-1)).toBe('data: [DONE]')
    expect(client.split(text)).toHaveLength(3)
    const costs = JSON.parse(report)
    expect(costs.totals.overallCost).toBeGreaterThan(0)
    expect(costs.services).toEqual([
      expect.objectContaining({ service: 'llm-gateway', totalCost: costs.totals.overallCost }),
    ])
  }, 120_000)

  it('drains and stops on Ctrl-C', async () => {
    const ended = once(platform, 'exit')
    process.kill(-(platform.pid ?? 0), 'SIGINT')
    await ended
    await expect(
      fetch(`http://127.0.0.1:${/localhost:(\d+)/.exec(printed)?.[1]}/portal/health`),
    ).rejects.toThrow()
  })
})
