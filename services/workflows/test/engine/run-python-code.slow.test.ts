import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TaskProgram } from '../../src/adapters/local/program.ts'
import { findInterpreter, type Interpreter } from '../../src/adapters/python/interpreter.ts'
import { runPythonCode } from '../../src/adapters/python/run-python-code.ts'
import type { EngineRun, EngineRunState } from '../../src/ports.ts'
import { until } from './engine-contract.ts'
import { type LocalEngineTest, startLocalEngine } from './local-engine.ts'

/** Files of the workspace are written by a task before, as a fetch would. */
const writeFiles: TaskProgram = async (task) => {
  for (const [name, text] of Object.entries(task.arguments)) {
    const file = path.join(task.workspace, name)
    await mkdir(path.dirname(file), { recursive: true })
    if (text.startsWith('-> ')) await symlink(text.slice(3), file)
    else await writeFile(file, text)
  }
}

/** A package of one module, as an index would offer it: nothing of these tests leaves this machine. */
const MAKE_WHEEL = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1] + "/atrium_sample-1.2.3-py3-none-any.whl", "w") as wheel:
    info = "atrium_sample-1.2.3.dist-info/"
    wheel.writestr("atrium_sample.py", "VERSION = '1.2.3'")
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: atrium-sample\\nVersion: 1.2.3\\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(info + "RECORD", "")
`

const python = await findInterpreter('python3')
const SECRETS = { TOKEN: 'very "secret" value' }

describe.skipIf(python === undefined)('run-python-code', () => {
  let subject: LocalEngineTest
  let made = 0
  let wheels = ''

  beforeAll(async () => {
    const { prefix, executable } = python as Interpreter
    wheels = await mkdtemp(path.join(tmpdir(), 'atrium-wheels-'))
    await chmod(wheels, 0o755)
    await promisify(execFile)(executable, ['-c', MAKE_WHEEL, wheels])
    const programs = new Map([['write-files', writeFiles]])
    subject = await startLocalEngine({
      programs,
      readable: [prefix, wheels],
      secrets: SECRETS,
      environment: { PIP_NO_INDEX: '1', PIP_FIND_LINKS: wheels },
    })
    const program = runPythonCode({ python, locks: path.join(subject.dataDir, 'workflows', 'locks') })
    programs.set('run-python-code', async (task) => {
      made++
      await program(task)
    })
  })
  afterAll(async () => {
    await subject.close()
    await rm(wheels, { recursive: true, force: true })
  })

  async function run(
    files: Readonly<Record<string, string>>,
    ...scripts: readonly Readonly<Record<string, string>>[]
  ): Promise<{ state: EngineRunState; run: EngineRun; log(task: string): string }> {
    const run: EngineRun = {
      ...(await subject.record()),
      attempt: 1,
      finished: [],
      tasks: [
        {
          name: 'files',
          template: { name: 'write-files', version: 'v1.0.0' },
          arguments: files,
          dependencies: [],
        },
        ...scripts.map((given, at) => ({
          name: `python${at}`,
          template: { name: 'run-python-code', version: 'v1.1.0' },
          arguments: given,
          dependencies: ['files'],
        })),
      ],
    }
    await subject.engine.submit(run)
    const state = await until(subject.engine, run, ({ isEnded }) => isEnded, 150_000)
    return { state, run, log: (task) => subject.output.logOf({ ...run, task }) }
  }
  const messages = ({ tasks }: EngineRunState): string[] => tasks.slice(1).map(({ message }) => message)

  it('runs a script with its arguments, environment, working folder, artifacts and metrics', async () => {
    const script = `
import json, os, sys
print(json.dumps([sys.argv[1:], os.getcwd(), os.environ["NAME"], os.path.exists(os.environ["HOME"])]))
print("token", os.environ["TOKEN"])
print("to stderr", file=sys.stderr)
os.makedirs(os.environ["ATRIUM_ARTIFACTS"] + "/plots")
open(os.environ["ATRIUM_ARTIFACTS"] + "/plots/a.txt", "w").write("a plot")
with open(os.environ["ATRIUM_METRICS"], "a") as metrics:
    for step in range(3):
        print(json.dumps({"name": "loss", "step": step, "value": 1 / (step + 1)}), file=metrics)
    print("nonsense", file=metrics)
`
    const {
      state,
      run: made,
      log,
    } = await run(
      { 'code/main.py': script, 'data/x': 'x' },
      {
        script: 'code/main.py',
        args: `--name 'two words' "$(id)" \${HOME}`,
        workingDirectory: 'data',
        env: '{"NAME":"näme","TOKEN":"${secret.TOKEN}"}',
        image: 'python:3.12',
      },
    )
    expect(messages(state)).toEqual([''])
    const text = log('python0')
    const [words, cwd, name, hasHome] = JSON.parse(
      text.split('\n').find((line) => line.startsWith('[')) ?? '',
    )
    expect(words).toEqual(['--name', 'two words', '$(id)', '${HOME}'])
    expect([path.basename(cwd), name, hasHome]).toEqual(['data', 'näme', true])
    expect(text).toContain('token ***\n')
    expect(text).toContain('to stderr\n')
    expect(text).toMatch(/ignores the image python:3\.12/)
    expect(text).toMatch(/1 lines of \$ATRIUM_METRICS are not kept/)
    const ref = { ...made, task: 'python0' }
    expect(subject.output.artifactsOf(ref)).toEqual({ 'plots/a.txt': 'a plot' })
    expect(subject.output.metricsOf(ref)).toEqual(
      [1, 0.5, 1 / 3].map((value, step) => ({ name: 'loss', step, value })),
    )
  })

  it('says how a script ended, with its last lines', async () => {
    const { state } = await run(
      {
        'exit.py': 'import sys\nprint("the last words")\nsys.exit(7)',
        'raise.py': 'raise ValueError("wrong shape")',
        'kill.py': 'import os, signal\nos.kill(os.getpid(), signal.SIGKILL)',
        'slow.py': 'import time\nprint("began", flush=True)\ntime.sleep(600)',
        'leak.py': 'import os\nraise ValueError(os.environ["TOKEN"])',
      },
      { script: 'exit.py' },
      { script: 'raise.py' },
      { script: 'kill.py' },
      { script: 'slow.py', timeoutSeconds: '1' },
      { script: 'leak.py', env: '{"TOKEN":"${secret.TOKEN}"}' },
    )
    const [exit, raised, killed, slow, leak] = messages(state)
    expect(exit).toBe('exit.py ended with exit code 7\nthe last words')
    expect(raised).toMatch(/^raise\.py ended with exit code 1\nTraceback[\s\S]*ValueError: wrong shape$/)
    expect(killed).toBe('kill.py was ended by SIGKILL')
    expect(slow).toBe('slow.py took longer than 1 s, or than tasks may here\nbegan')
    expect(leak).toMatch(/ValueError: \*\*\*$/)
  })

  it.each([
    [{ script: '../../x.py' }, 'script leads out of the workspace'],
    [{ script: '/etc/passwd' }, 'script leads out of the workspace'],
    [{ script: 'link.py' }, 'script leads out of the workspace'],
    [{ script: 'none.py' }, 'script: the workspace has no none.py'],
    [{ script: 'a.py', workingDirectory: 'out' }, 'workingDirectory leads out of the workspace'],
    [{ script: 'a.py', requirements: 'link.py' }, 'requirements leads out of the workspace'],
    [{ script: 'a.py', requirements: 'leads-out.txt' }, 'requirements leads out of the workspace'],
    [{ script: 'a.py', args: '"open' }, 'args: a quote has no end'],
  ])('refuses %j', async (given, message) => {
    const files = { 'a.py': '', 'link.py': '-> /etc/passwd', out: '-> /', 'leads-out.txt': '-r ../../x' }
    expect(messages((await run(files, given)).state)).toEqual([message])
  })

  it('makes an environment once for many tasks that ask at once, and for later runs', async () => {
    const files = {
      'main.py':
        'import atrium_sample, sys\nprint("with", atrium_sample.VERSION, sys.prefix != sys.base_prefix)',
      'requirements/all.txt': '-r more.txt\n',
      'requirements/more.txt': 'atrium-sample==1.2.3\n',
    }
    const given = { script: 'main.py', requirements: 'requirements/all.txt' }
    made = 0
    const first = await run(files, given, given, given)
    expect(messages(first.state)).toEqual(['', '', ''])
    const second = await run(files, given)
    expect(messages(second.state)).toEqual([''])
    expect(made).toBe(4)
    const logs = [first.log('python0'), first.log('python1'), first.log('python2'), second.log('python0')]
    for (const log of logs) expect(log).toContain('with 1.2.3 True')
    expect(logs.filter((log) => log.includes('Making an environment'))).toHaveLength(1)
  })

  it('says why requirements cannot be installed, and tries again', async () => {
    const files = { 'a.py': 'print("ran")', 'r.txt': 'this is no requirement' }
    for (let tries = 0; tries < 2; tries++) {
      const [message] = messages((await run(files, { script: 'a.py', requirements: 'r.txt' })).state)
      expect(message).toMatch(/^The requirements could not be installed:\n[\s\S]*Invalid requirement/)
    }
  })
})
