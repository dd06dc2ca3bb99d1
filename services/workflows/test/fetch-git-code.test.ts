import { access, readFile, readlink } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { type GitServer, startGitServer } from '@atrium/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { fetchGitCode } from '../src/adapters/git/fetch-git-code.ts'
import type { GitDeps } from '../src/adapters/git/fetch-repository.ts'
import { TaskFailure } from '../src/adapters/local/program.ts'
import { egressRule } from '../src/domain/egress-rule.ts'
import { type TestTask, testTask } from './support/running-task.ts'

let server: GitServer
/** On an address that may not be reached. */
let hidden: GitServer
let first = ''
let second = ''
let elsewhere = ''
const opened: TestTask[] = []

const deps: GitDeps = { egress: egressRule(['127.0.0.1']), fileFolders: [], caFile: undefined }

async function run(args: Record<string, string>, more: Partial<GitDeps> = {}): Promise<TestTask> {
  const task = await testTask(args)
  opened.push(task)
  await fetchGitCode({ ...deps, ...more })(task)
  return task
}

const read = (task: TestTask, ...parts: string[]) => readFile(path.join(task.workspace, ...parts), 'utf8')

/** Why a task failed, in the words that people read. */
const failure = async (args: Record<string, string>, more: Partial<GitDeps> = {}): Promise<string> => {
  const error = await run(args, more).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(TaskFailure)
  return (error as Error).message
}

beforeAll(async () => {
  let hiddenUrl = ''
  server = await startGitServer({
    first: (request, response) => {
      if (!request.url?.startsWith('/moved')) return false
      const rest = request.url.slice('/moved'.length)
      const to = rest.startsWith('/away') ? `${hiddenUrl}${rest.slice('/away'.length)}` : rest
      response.writeHead(301, { location: to }).end()
      return true
    },
  })
  hidden = await startGitServer({ host: '127.0.0.2' })
  hiddenUrl = hidden.url
  first = await server.commit('code', { 'main.py': 'print(1)\n' }, { tag: 'v1.0' })
  second = await server.commit('code', { 'main.py': 'print(2)\n', 'lib/a.py': '' })
  elsewhere = await server.commit('code', { 'main.py': 'print(3)\n' }, { branch: 'feature/x' })
  await hidden.commit('code', { 'secret.txt': 'x' })
})

afterEach(async () => {
  for (const task of opened.splice(0)) await task.close()
})

afterAll(async () => {
  await server.close()
  await hidden.close()
})

describe('what is fetched', () => {
  it('is the default branch, into the workspace, with the last commit alone', async () => {
    const task = await run({ repository: `${server.url}/code.git` })
    expect(await read(task, 'main.py')).toBe('print(2)\n')
    expect(task.lines).toContain(`the workspace is at commit ${second}`)
    const log = await task.exec('git', ['log', '--format=%H'], { logged: false })
    expect(log.output.trim()).toBe(second)
  })

  it.each([
    ['a branch', () => 'feature/x', () => elsewhere],
    ['a tag', () => 'v1.0', () => first],
    ['a reference', () => 'refs/heads/main', () => second],
    ['a commit', () => first, () => first],
    ['a part of its hash', () => first.slice(0, 9), () => first],
  ])('is %s', async (_what, revision, commit) => {
    const task = await run({ repository: `${server.url}/code.git`, revision: revision(), path: 'a/b' })
    expect(task.lines).toContain(`a/b is at commit ${commit()}`)
    expect(await read(task, 'a/b/main.py')).toMatch(/print\(\d\)/)
  })

  it('is as much of the history as asked for', async () => {
    for (const [depth, count] of [
      ['0', '2'],
      ['2', '2'],
      ['1', '1'],
    ] as const) {
      const task = await run({ repository: `${server.url}/code.git`, depth })
      const counted = await task.exec('git', ['rev-list', '--count', 'HEAD'], { logged: false })
      expect(counted.output.trim()).toBe(count)
    }
  })

  it('comes again over what an earlier try left', async () => {
    const task = await run({ repository: `${server.url}/code.git`, path: 'code' })
    await task.exec('sh', [
      '-c',
      'echo broken > code/main.py; touch code/.git/index.lock code/.git/shallow.lock',
    ])
    await fetchGitCode(deps)(task)
    expect(await read(task, 'code/main.py')).toBe('print(2)\n')
  })

  it('may have moved on the same server', async () => {
    const task = await run({ repository: `${server.url}/moved/code.git` })
    expect(await read(task, 'main.py')).toBe('print(2)\n')
  })

  it('may be in a folder of this machine that the operator names', async () => {
    const repository = pathToFileURL(path.join(server.root, 'code.git')).href
    expect(await failure({ repository })).toContain('files of this machine are no repositories')
    const task = await run({ repository }, { fileFolders: [server.root] })
    expect(await read(task, 'main.py')).toBe('print(2)\n')
    const outside = `${pathToFileURL(server.root).href}-beside/code.git`
    const escaped = `${pathToFileURL(server.root).href}/%2e%2e%2fcode.git`
    for (const other of [outside, escaped, `${repository}/../../code.git`, 'file:///etc'])
      expect(await failure({ repository: other }, { fileFolders: [server.root] })).toContain('lies in none')
  })
})

describe('what a repository cannot do', () => {
  it('run hooks, filters or submodules of its own', async () => {
    await server.commit('hostile', {
      'post-checkout': '#!/bin/sh\ntouch ran\n',
      '.gitattributes': '* filter=run\n',
      '.gitconfig': '[filter "run"]\n  smudge = touch ran\n[core]\n  hooksPath = .\n',
      '.gitmodules': `[submodule "x"]\n  path = x\n  url = ${hidden.url}/code.git\n`,
    })
    const task = await run({ repository: `${server.url}/hostile.git` })
    await expect(access(path.join(task.workspace, 'ran'))).rejects.toThrow('ENOENT')
    expect(hidden.asked).toEqual([])
    expect((await task.exec('sh', ['-c', 'ls .git/hooks 2>/dev/null'], { logged: false })).output).toBe('')
  })

  it('make a later task write outside of the workspace by a link', async () => {
    await server.commit('links', {}, { links: { out: '/tmp' } })
    const task = await run({ repository: `${server.url}/links.git` })
    expect(await readlink(path.join(task.workspace, 'out'))).toBe('/tmp')
    const again: TestTask = { ...task, arguments: { repository: `${server.url}/code.git`, path: 'out/x' } }
    await expect(fetchGitCode(deps)(again)).rejects.toThrow(
      new TaskFailure('path leads out of the workspace'),
    )
  })
})

describe('what arguments cannot do', () => {
  it.each([
    [{ repository: '--upload-pack=touch ran' }, 'repository is no address'],
    [{ repository: 'ext::sh -c "touch ran"' }, 'repository is no address'],
    [{ repository: 'ssh://-oProxyCommand=touch/x' }, 'repository the host'],
    [{ repository: 'file:///etc' }, 'files of this machine'],
    [{ repository: 'https://$(touch ran)/x' }, 'repository is no address'],
    [{ repository: 'https://a:b@host/x' }, 'may hold no password'],
    [{ repository: 'https://host/x', revision: '--upload-pack=x' }, 'revision names no'],
    [{ repository: 'https://host/x', revision: 'a:refs/heads/b' }, 'revision names no'],
    [{ repository: 'https://host/x', path: '../x' }, 'path leads out'],
    [{ repository: 'https://host/x', path: '/etc' }, 'path leads out'],
    [{ repository: 'https://host/x', path: '.git/hooks' }, 'path leads out'],
    [{ repository: 'https://host/x', depth: '-1' }, 'depth must be'],
    [{ repository: 'git@host:x' }, 'sshKey is needed'],
    [{ repository: 'git@host:x', sshKey: 'k' }, 'knownHosts is needed'],
  ])('%j', async (args, expected) => {
    expect(await failure(args as Record<string, string>)).toContain(expected)
  })

  it('reach through a shell', async () => {
    const odd = 'a;touch ran && $(touch ran) `touch ran` | "x"'
    await server.commit(odd, { 'f.txt': 'x' }, { branch: 'b$(touch$IFS.ran)' })
    const task = await run({
      repository: `${server.url}/${encodeURIComponent(odd)}.git`,
      revision: 'b$(touch$IFS.ran)',
      path: odd,
    })
    expect(await read(task, odd, 'f.txt')).toBe('x')
    await expect(access(path.join(task.workspace, 'ran'))).rejects.toThrow('ENOENT')
  })
})

describe('where it may not go', () => {
  it.each([
    'http://127.0.0.2:1/x',
    'http://[::1]:1/x',
    'http://169.254.169.254/latest',
    'ssh://git@127.0.0.2:1/x',
  ])('refuses %s by name', async (repository) => {
    const message = await failure({ repository, sshKey: 'k', knownHosts: 'h' })
    expect(message).toContain('ATRIUM_ALLOWED_ADDRESSES')
  })

  it('follows no redirect there', async () => {
    const message = await failure({ repository: `${server.url}/moved/away/code.git` })
    expect(message).toBe('127.0.0.2 is no public address, and ATRIUM_ALLOWED_ADDRESSES does not name it')
    expect(hidden.asked).toEqual([])
  })
})

it('tells what git said of a repository or revision that is not there', async () => {
  expect(await failure({ repository: `${server.url}/nothing.git` })).toContain('not found')
  expect(await failure({ repository: `${server.url}/code.git`, revision: 'nothing' })).toContain(
    "couldn't find remote ref nothing",
  )
  expect(await failure({ repository: `${server.url}/code.git`, revision: 'f'.repeat(40) })).toContain(
    'checked out',
  )
})

it('ends when the task is aborted', async () => {
  let asked: (() => void) | undefined
  const wasAsked = new Promise<void>((resolve) => {
    asked = resolve
  })
  const slow = await startGitServer({
    first: () => {
      asked?.()
      return true
    },
  })
  const task = await testTask({ repository: `${slow.url}/code.git` })
  opened.push(task)
  const ended = fetchGitCode(deps)(task)
  await wasAsked
  task.abort()
  await expect(ended).rejects.toThrow(TaskFailure)
  await slow.close()
})
