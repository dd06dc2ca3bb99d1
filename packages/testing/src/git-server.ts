import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Git as a test makes commits with it: of nobody's configuration, always at the same time. */
async function git(cwd: string, ...args: string[]): Promise<string> {
  const { stdout } = await run('git', args, {
    cwd,
    env: {
      PATH: process.env.PATH,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_AUTHOR_NAME: 'Test',
      GIT_AUTHOR_EMAIL: 'test@example.test',
      GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z',
      GIT_COMMITTER_NAME: 'Test',
      GIT_COMMITTER_EMAIL: 'test@example.test',
      GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z',
    },
  })
  return stdout.trim()
}

export interface GitServerOptions {
  /** Refuses with 401 whoever does not bring this by Basic; undefined: public. */
  readonly account?: { readonly username: string; readonly password: string | (() => string) }
  /** PEM; with them the server speaks TLS. */
  readonly tls?: { readonly key: string; readonly cert: string }
  /** Answers some requests itself. @returns whether it did */
  readonly first?: (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>
  /** 127.0.0.1 by default. */
  readonly host?: string
}

/** A server of repositories by HTTP: git's own `http-backend`. */
export interface GitServer {
  /** Without a slash at its end; repositories are below it. */
  readonly url: string
  /** Folder of the bare repositories, `<name>.git`. */
  readonly root: string
  /** Paths that were asked for. */
  readonly asked: readonly string[]
  /**
   * Adds a commit with these files to a branch of a repository, which it makes if need be.
   * @returns the commit's hash
   */
  commit(
    repository: string,
    files: Readonly<Record<string, string>>,
    options?: CommitOptions,
  ): Promise<string>
  close(): Promise<void>
}

export interface CommitOptions {
  /** `main` by default. */
  readonly branch?: string
  readonly tag?: string
  /** Links by their path, with what they point at. */
  readonly links?: Readonly<Record<string, string>>
}

export async function startGitServer(options: GitServerOptions = {}): Promise<GitServer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'atrium-git-'))
  const root = path.join(folder, 'served')
  await mkdir(root)
  const asked: string[] = []
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    asked.push(request.url ?? '')
    if ((await options.first?.(request, response)) === true) return
    if (!isKnown(request, options.account)) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
      return
    }
    serve(root, request, response)
  }
  const listener = (request: IncomingMessage, response: ServerResponse): void =>
    void answer(request, response).catch(() => response.destroy())
  const server: Server =
    options.tls === undefined ? createServer(listener) : createTlsServer(options.tls, listener)
  server.listen(0, options.host ?? '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `${options.tls === undefined ? 'http' : 'https'}://${options.host ?? '127.0.0.1'}:${port}`,
    root,
    asked,
    commit: (repository, files, how) => commit(folder, root, repository, files, how),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function commit(
  folder: string,
  root: string,
  repository: string,
  files: Readonly<Record<string, string>>,
  { branch = 'main', tag, links = {} }: CommitOptions = {},
): Promise<string> {
  const bare = path.join(root, `${repository}.git`)
  const work = await mkdtemp(path.join(folder, 'work-'))
  await git(folder, 'init', '--quiet', '--bare', '--initial-branch=main', bare)
  await git(work, 'init', '--quiet', `--initial-branch=${branch}`)
  await git(work, 'remote', 'add', 'origin', bare)
  const known = await git(work, 'ls-remote', 'origin', `refs/heads/${branch}`)
  if (known !== '') {
    await git(work, 'fetch', '--quiet', 'origin', branch)
    await git(work, 'reset', '--quiet', '--hard', 'FETCH_HEAD')
  }
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(work, name)), { recursive: true })
    await writeFile(path.join(work, name), text)
  }
  for (const [name, target] of Object.entries(links))
    await run('ln', ['-s', '--', target, path.join(work, name)])
  await git(work, 'add', '--all', '--force')
  await git(work, 'commit', '--quiet', '--allow-empty', '-m', 'a commit')
  if (tag !== undefined) await git(work, 'tag', '-a', tag, '-m', tag)
  await git(work, 'push', '--quiet', '--follow-tags', 'origin', `HEAD:refs/heads/${branch}`)
  return git(work, 'rev-parse', 'HEAD')
}

function isKnown({ headers }: IncomingMessage, account: GitServerOptions['account']): boolean {
  if (account === undefined) return true
  const password = typeof account.password === 'string' ? account.password : account.password()
  return (
    headers.authorization === `Basic ${Buffer.from(`${account.username}:${password}`).toString('base64')}`
  )
}

/** The Common Gateway Interface, as far as `git http-backend` needs it. */
function serve(root: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://x')
  const child = spawn('git', ['http-backend'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
      PATH_INFO: decodeURIComponent(pathname),
      QUERY_STRING: searchParams.toString(),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      REMOTE_ADDR: '127.0.0.1',
    },
  })
  child.stdin.on('error', () => {})
  request.pipe(child.stdin)
  let head: Buffer | undefined = Buffer.alloc(0)
  child.stdout.on('data', (chunk: Buffer) => {
    if (head === undefined) return void response.write(chunk)
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end === -1) return
    const headers = head.subarray(0, end).toString().split('\r\n')
    const status = headers.find((line) => /^status:/i.test(line))
    response.statusCode = Number(/\d+/.exec(status ?? '200')?.[0])
    for (const line of headers) {
      const colon = line.indexOf(':')
      if (line !== status) response.setHeader(line.slice(0, colon), line.slice(colon + 1).trim())
    }
    response.write(head.subarray(end + 4))
    head = undefined
  })
  child.stdout.on('end', () => response.end())
}
