import { realpath } from 'node:fs/promises'
import path from 'node:path'
import type { EgressRule } from '../../domain/egress-rule.ts'
import { type GitAddress, isInnerPath, isRevision, parseGitAddress } from '../../domain/git-address.ts'
import { openForwarder } from '../egress/forwarder.ts'
import { openEgressProxy } from '../egress/proxy.ts'
import { type ExecResult, type RunningTask, TaskFailure } from '../local/program.ts'
import { type GitCredentials, type GitWay, gitEnvironment } from './git-environment.ts'

export interface GitDeps {
  readonly egress: EgressRule
  /** Whether `file://` addresses may be used: for tests. */
  /** Folders whose repositories may be taken by `file://`; none: no such address may be used. */
  readonly fileFolders: readonly string[]
  /** PEM file of authorities instead of the system's. */
  readonly caFile: string | undefined
}

/** What a task asks for, checked. */
export interface Fetch {
  readonly address: GitAddress
  /** Undefined for the server's default branch. */
  readonly revision: string | undefined
  /** Within the workspace. */
  readonly path: string
  /** Commits of history; 0 for all of it. */
  readonly depth: number
}

const DEEPEST = 1_000_000
/** The folder belongs to another user than the one that the task has; what serves it hears of no settings of ours. */
const SERVES_ANY_OWNER = "--upload-pack=git -c 'safe.directory=*' upload-pack"

/** @throws TaskFailure naming the argument that is wrong, and why */
export function readFetch(
  { repository = '', revision, path: folder = '.', depth = '1' }: Readonly<Record<string, string>>,
  { fileFolders }: Pick<GitDeps, 'fileFolders'>,
): Fetch {
  const address = parseGitAddress(repository, { allowsFile: fileFolders.length > 0 })
  if (typeof address === 'string') throw new TaskFailure(`repository ${address}`)
  if (address.kind === 'file' && !liesIn(address.url, fileFolders))
    throw new TaskFailure('repository lies in none of the folders of ATRIUM_WORKFLOWS_FILE_REPOSITORIES')
  if (revision !== undefined && revision !== '' && !isRevision(revision)) {
    throw new TaskFailure('revision names no branch, tag or commit')
  }
  if (!isInnerPath(folder)) throw new TaskFailure('path leads out of the workspace')
  if (!/^\d{1,7}$/.test(depth) || Number(depth) > DEEPEST) {
    throw new TaskFailure(`depth must be a whole number from 0 to ${DEEPEST}`)
  }
  return { address, revision: revision === '' ? undefined : revision, path: folder, depth: Number(depth) }
}

/** @param url `file:///…`, without steps up: whoever made it a URL took them away */
function liesIn(url: string, folders: readonly string[]): boolean {
  const { pathname } = new URL(url)
  // What an escape stands for is git's to say.
  if (pathname.includes('%')) return false
  return folders.some((folder) => `${pathname}/`.startsWith(`${path.resolve(folder)}${path.sep}`))
}

/** Symbolic links that earlier tasks made do not lead out either. What runs in the sandbox could not follow them. */
async function demandInside(workspace: string, folder: string): Promise<void> {
  for (let at = path.resolve(workspace, folder); at !== workspace; at = path.dirname(at)) {
    const real = await realpath(at).catch(() => undefined)
    if (real !== undefined && real !== workspace && !real.startsWith(`${workspace}${path.sep}`)) {
      throw new TaskFailure('path leads out of the workspace')
    }
  }
}

/**
 * Puts a revision of a repository into the workspace. Everything that touches the workspace runs within the task's
 * limits. May be repeated on what an earlier try left.
 * @throws TaskFailure with git's last words
 */
export async function fetchRepository(
  task: RunningTask,
  fetch: Fetch,
  credentials: GitCredentials,
  deps: GitDeps,
): Promise<void> {
  await demandInside(task.workspace, fetch.path)
  const way = await openWay(fetch.address, deps)
  try {
    const env = gitEnvironment(fetch.address, credentials, { ...way, caFile: deps.caFile })
    await fetchInto(task, fetch, env, way)
  } finally {
    await way.close()
  }
}

interface OpenWay extends GitWay {
  /** What was refused, and why. */
  refusal(): string | undefined
  close(): Promise<void>
}

async function openWay(address: GitAddress, { egress }: GitDeps): Promise<OpenWay> {
  if (address.kind === 'file') return { refusal: () => undefined, close: async () => {} }
  if (address.kind === 'http') {
    const proxy = await openEgressProxy(egress)
    return { proxyUrl: proxy.url, refusal: () => proxy.refusal?.message, close: proxy.close }
  }
  const forwarder = await openForwarder(egress, address)
  return { sshPort: forwarder.port, refusal: () => forwarder.refusal?.message, close: forwarder.close }
}

const WHOLE_OR_PART_OF_A_HASH = /^[0-9a-f]{7,64}$/

async function fetchInto(
  task: RunningTask,
  { address, revision, path: folder, depth }: Fetch,
  env: Record<string, string>,
  way: OpenWay,
): Promise<void> {
  const git = (...args: string[]): Promise<ExecResult> => task.exec('git', args, { env })
  const demand = async (result: ExecResult, what: string): Promise<void> => {
    if (result.exitCode === 0) return
    throw new TaskFailure(way.refusal() ?? `${what}: ${wordsOf(result)}`)
  }
  task.log(`fetching ${revision ?? 'the default branch'} of ${address.url}`)
  // What an earlier try left may be half done or locked.
  await demand(await task.exec('rm', ['-rf', '--', `${folder}/.git`]), `${folder} could not be made ready`)
  await demand(await git('init', '--quiet', '--', folder), `${folder} could not be made ready`)
  const serving = address.kind === 'file' ? [SERVES_ANY_OWNER] : []
  const fetch = (...more: string[]): Promise<ExecResult> =>
    git('-C', folder, 'fetch', '--force', '--no-tags', '--no-recurse-submodules', ...serving, ...more)
  const shallow = depth === 0 ? [] : [`--depth=${depth}`]
  const first = await fetch(...shallow, '--', address.url, revision ?? 'HEAD')
  let target = 'FETCH_HEAD'
  if (first.exitCode !== 0) {
    const isHash = revision !== undefined && WHOLE_OR_PART_OF_A_HASH.test(revision)
    if (!isHash || first.exitCode === undefined || way.refusal() !== undefined) {
      await demand(first, 'the repository could not be fetched')
    }
    // Not every server gives out single commits, and none by part of a hash.
    task.log('the server does not give out this commit by itself; fetching all branches and tags')
    const all = await fetch(
      '--',
      address.url,
      '+refs/heads/*:refs/remotes/origin/*',
      '+refs/tags/*:refs/tags/*',
    )
    await demand(all, 'the repository could not be fetched')
    target = `${revision}^{commit}`
  }
  const checkout = await git('-C', folder, 'checkout', '--quiet', '--force', '--detach', target, '--')
  await demand(checkout, `${revision ?? 'the default branch'} could not be checked out`)
  const head = await task.exec('git', ['-C', folder, 'rev-parse', 'HEAD'], { env, logged: false })
  task.log(`${folder === '.' ? 'the workspace' : folder} is at commit ${head.output.trim()}`)
}

function wordsOf({ exitCode, signal, exceeded, tail }: ExecResult): string {
  if (exceeded !== undefined) return `the limit of ${exceeded} was reached`
  const last = tail.trim().split('\n').slice(-5).join('\n')
  return last !== ''
    ? last
    : exitCode === undefined
      ? `git was ended by ${signal}`
      : `git ended with ${exitCode}`
}
