import { execFile, spawn } from 'node:child_process'
import { createVerify, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { json } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { type GitServer, startGitServer } from '@atrium/testing'
import ssh2 from 'ssh2'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { egressAgent, egressFetch } from '../src/adapters/egress/agent.ts'
import { fetchGitCode } from '../src/adapters/git/fetch-git-code.ts'
import { fetchGitCodeAsApp } from '../src/adapters/git/fetch-git-code-atc.ts'
import type { GitDeps } from '../src/adapters/git/fetch-repository.ts'
import { TaskFailure } from '../src/adapters/local/program.ts'
import { egressRule } from '../src/domain/egress-rule.ts'
import { type TestTask, testTask } from './support/running-task.ts'

const egress = egressRule(['127.0.0.1', '::1'])
let folder = ''
let tls = { key: '', cert: '' }
let deps: GitDeps
const opened: TestTask[] = []

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'atrium-private-'))
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => path.join(folder, name)) as [string, string]
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30'],
    ...['-subj', '/CN=test', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert],
  ])
  tls = { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') }
  deps = { egress, fileFolders: [], caFile: cert }
})

afterEach(async () => {
  for (const task of opened.splice(0)) await task.close()
})

afterAll(() => rm(folder, { recursive: true, force: true }))

async function taskOf(args: Record<string, string>): Promise<TestTask> {
  const task = await testTask(args)
  opened.push(task)
  return task
}

const read = (task: TestTask, ...parts: string[]) => readFile(path.join(task.workspace, ...parts), 'utf8')

/** Secrets are in environments only. */
function expectHidden(task: TestTask, secret: string): void {
  expect(task.executed.flatMap(({ command, args }) => [command, ...args]).join('\n')).not.toContain(secret)
  expect(task.lines.join('\n')).not.toContain(secret)
}

describe('a private repository over https', () => {
  const TOKEN = 'glpat-0123456789'
  let server: GitServer

  beforeAll(async () => {
    server = await startGitServer({ tls, account: { username: 'x-access-token', password: TOKEN } })
    await server.commit('private', { 'main.py': 'print(4)\n' })
  })
  afterAll(() => server.close())

  it('is fetched with a token, which stands nowhere', async () => {
    const task = await taskOf({ repository: `${server.url}/private.git`, token: TOKEN })
    await fetchGitCode(deps)(task)
    expect(await read(task, 'main.py')).toBe('print(4)\n')
    expectHidden(task, TOKEN)
    const kept = await task.exec('grep', ['-rF', TOKEN, '.'], { logged: false })
    expect([kept.exitCode, kept.output]).toEqual([1, ''])
  })

  it.each([
    ['without one', {}, /terminal prompts disabled|could not read/],
    ['with another', { token: 'wrong' }, /Authentication failed/],
    ['as another user', { token: TOKEN, username: 'oauth2' }, /Authentication failed/],
  ])('is refused %s, and nobody is asked', async (_how, args, expected) => {
    const task = await taskOf({ repository: `${server.url}/private.git`, ...args })
    await expect(fetchGitCode(deps)(task)).rejects.toThrow(expected)
  })

  it('is not believed to be another server', async () => {
    const task = await taskOf({ repository: `${server.url}/private.git`, token: TOKEN })
    await expect(fetchGitCode({ ...deps, caFile: undefined })(task)).rejects.toThrow(/certificate/)
  })

  it('sends the token to no other server that it redirects to', async () => {
    const seen: unknown[] = []
    const thief = await startGitServer({
      tls,
      first: ({ headers }, response) => {
        seen.push(headers.authorization)
        response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end()
        return true
      },
    })
    const redirecting = await startGitServer({
      tls,
      first: (request, response) => {
        if (request.headers.authorization === undefined) {
          response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end()
        } else response.writeHead(302, { location: `${thief.url}${request.url}` }).end()
        return true
      },
    })
    const task = await taskOf({ repository: `${redirecting.url}/private.git`, token: TOKEN })
    await expect(fetchGitCode(deps)(task)).rejects.toThrow(TaskFailure)
    expect(seen.length).toBeGreaterThan(0)
    expect(seen.every((one) => one === undefined)).toBe(true)
    await thief.close()
    await redirecting.close()
  })
})

describe('a repository as a GitHub App', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  let server: GitServer
  let minted = ''
  const asked: unknown[] = []

  /** What a JSON Web Token claims, once its signature was found to be the app's. */
  function claimsOf(token: string): Record<string, number | string> | undefined {
    const [head = '', body = '', signature = ''] = token.split('.')
    const isTrue = createVerify('RSA-SHA256')
      .update(`${head}.${body}`)
      .verify(publicKey, signature, 'base64url')
    return isTrue ? JSON.parse(Buffer.from(body, 'base64url').toString()) : undefined
  }

  /** `POST /app/installations/{id}/access_tokens`, as an Enterprise Server has it. */
  async function apps(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const found = /^\/api\/v3\/app\/installations\/(\d+)\/access_tokens$/.exec(request.url ?? '')
    if (found === null || request.method !== 'POST') return false
    const claims = claimsOf(/^bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '')
    const answer = (status: number, body: object): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (
      claims === undefined ||
      String(claims.iss) !== '1234' ||
      Number(claims.exp) - Number(claims.iat) > 660
    ) {
      answer(401, { message: 'A JSON web token could not be decoded' })
    } else if (found[1] !== '77') answer(404, { message: 'Not Found' })
    else {
      const body = await json(request)
      asked.push(body)
      minted = `ghs_${Math.random().toString(36).slice(2)}`
      answer(201, {
        token: minted,
        expires_at: new Date(Date.now() + 3_600_000).toISOString(),
        permissions: { contents: 'read', metadata: 'read' },
        repository_selection: 'selected',
      })
    }
    return true
  }

  beforeAll(async () => {
    server = await startGitServer({
      tls,
      account: { username: 'x-access-token', password: () => minted },
      first: apps,
    })
    await server.commit('team/code', { 'main.py': 'print(5)\n' })
  })
  afterAll(() => server.close())

  const run = async (args: Record<string, string>): Promise<TestTask> => {
    const task = await taskOf({
      repository: `${server.url}/team/code.git`,
      appId: '1234',
      installationId: '77',
      privateKey,
      ...args,
    })
    const agent = egressAgent(egress, { ca: tls.cert })
    try {
      await fetchGitCodeAsApp({ ...deps, fetch: egressFetch(agent) })(task)
    } finally {
      await agent.close()
    }
    return task
  }

  it('is fetched with a token for reading it alone', async () => {
    const task = await run({})
    expect(await read(task, 'main.py')).toBe('print(5)\n')
    expect(asked.at(-1)).toEqual({ repositories: ['code'], permissions: { contents: 'read' } })
    expectHidden(task, minted)
    expectHidden(task, privateKey.split('\n')[1] ?? '?')
    expect(task.executed.some(({ env }) => Object.values(env).join().includes('PRIVATE KEY'))).toBe(false)
  })

  it('takes the key with its line ends written out', async () => {
    const task = await run({ privateKey: privateKey.replaceAll('\n', '\\n') })
    expect(await read(task, 'main.py')).toBe('print(5)\n')
  })

  it.each([
    [{ appId: '1235' }, 'gave no token for the app: A JSON web token could not be decoded'],
    [{ installationId: '78' }, 'gave no token for the app: Not Found'],
    [{ installationId: 'x' }, 'installationId must be a number'],
    [{ appId: 'a b' }, 'appId must be'],
    [{ privateKey: 'x' }, 'privateKey must be'],
    [{ privateKey: '-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----' }, 'gave no token'],
    [{ repository: 'git@host:x/y' }, 'repository must begin with https://'],
    [{ apiUrl: 'https://127.0.0.2:8443' }, 'ATRIUM_ALLOWED_ADDRESSES'],
    [{ apiUrl: 'nothing' }, 'apiUrl must be'],
  ])('is refused with %j', async (args, expected) => {
    await expect(run(args as Record<string, string>)).rejects.toThrow(expected)
  })
})

describe('a repository over ssh', () => {
  const pair = ssh2.utils.generateKeyPairSync('ed25519')
  const other = ssh2.utils.generateKeyPairSync('ed25519')
  const hostKey = ssh2.utils.generateKeyPairSync('ed25519')
  let server: GitServer
  let ssh: ssh2.Server
  let port = 0
  const commands: string[] = []

  beforeAll(async () => {
    server = await startGitServer()
    await server.commit('code', { 'main.py': 'print(6)\n' })
    const known = ssh2.utils.parseKey(pair.public)
    if (known instanceof Error) throw known
    ssh = new ssh2.Server({ hostKeys: [hostKey.private] }, (client) => {
      client.on('error', () => {})
      client.on('authentication', (context) => {
        const isKnown =
          context.method === 'publickey' &&
          context.key.data.equals(known.getPublicSSH()) &&
          context.username === 'git'
        if (isKnown) context.accept()
        else context.reject(['publickey'])
      })
      client.on('session', (accept) => {
        accept().on('exec', (acceptExec, _reject, { command }) => {
          commands.push(command)
          const name = /^git-upload-pack '(?:\/\.\/|\/)?([a-z]+\.git)'$/.exec(command)?.[1] ?? 'none'
          const channel = acceptExec()
          const child = spawn('git-upload-pack', [path.join(server.root, name)])
          channel.pipe(child.stdin)
          child.stdout.pipe(channel, { end: false })
          child.stderr.pipe(channel.stderr)
          child.on('close', (code) => {
            channel.exit(code ?? 1)
            channel.end()
          })
        })
      })
    })
    ssh.listen(0, '127.0.0.1')
    await once(ssh, 'listening')
    port = (ssh.address() as AddressInfo).port
  })

  afterAll(async () => {
    ssh.close()
    await server.close()
  })

  const knownHosts = () => `[127.0.0.1]:${port} ${hostKey.public}`
  const run = async (args: Record<string, string>): Promise<TestTask> => {
    const task = await taskOf({
      repository: `ssh://git@127.0.0.1:${port}/code.git`,
      sshKey: pair.private,
      knownHosts: knownHosts(),
      ...args,
    })
    await fetchGitCode(deps)(task)
    return task
  }

  it('is fetched with a key, which stands nowhere afterwards', async () => {
    const task = await run({})
    expect(await read(task, 'main.py')).toBe('print(6)\n')
    expectHidden(task, pair.private.split('\n')[2] ?? '?')
    const left = await task.exec('sh', ['-c', 'ls -A "$TMPDIR"'], { logged: false })
    expect(left.output).toBe('')
  })

  it('is refused with another key, another server’s key, and none that is known', async () => {
    await expect(run({ sshKey: other.private })).rejects.toThrow('Permission denied')
    await expect(run({ knownHosts: `[127.0.0.1]:${port} ${other.public}` })).rejects.toThrow(
      'verification failed',
    )
    await expect(run({ knownHosts: `other.host ${hostKey.public}` })).rejects.toThrow('verification failed')
  })

  it('is asked for by git’s own program only', async () => {
    await run({})
    expect(new Set(commands.map((command) => command.split(' ')[0]))).toEqual(new Set(['git-upload-pack']))
  })
})
