import { createAppAuth } from '@octokit/auth-app'
import { request } from '@octokit/request'
import type { EgressFetch } from '../egress/agent.ts'
import { type RunningTask, TaskFailure, type TaskProgram } from '../local/program.ts'
import { type Fetch, fetchRepository, type GitDeps, readFetch } from './fetch-repository.ts'

export interface AppGitDeps extends GitDeps {
  readonly fetch: EgressFetch
}

type HttpAddress = Extract<Fetch['address'], { kind: 'http' }>

/** Where the host's REST interface is: GitHub's own, or beside an Enterprise Server's repositories. */
function apiOf({ origin }: HttpAddress): string {
  const { hostname } = new URL(origin)
  if (hostname === 'github.com') return 'https://api.github.com'
  return hostname.endsWith('.ghe.com') ? `https://api.${hostname}` : `${origin}/api/v3`
}

const NUMBER = /^\d{1,20}$/
const CLIENT_ID = /^[A-Za-z0-9._]{1,64}$/

function demandAppArguments({
  appId = '',
  installationId = '',
  privateKey = '',
  apiUrl,
}: RunningTask['arguments']): void {
  if (!CLIENT_ID.test(appId)) throw new TaskFailure('appId must be the id or client id of an app')
  if (!NUMBER.test(installationId)) throw new TaskFailure('installationId must be a number')
  if (apiUrl !== undefined && !/^https?:\/\/[^/?#@]+(\/[^?#]*)?$/.test(apiUrl)) {
    throw new TaskFailure('apiUrl must be the address of GitHub’s REST interface')
  }
  if (!privateKey.includes('PRIVATE KEY')) {
    throw new TaskFailure('privateKey must be the private key of the app, in PEM')
  }
}

/**
 * Template `fetch-git-code-atc`: as `fetch-git-code` over https, as an installation of a GitHub App. The token that it
 * asks for is good for an hour, for reading, and for this repository alone.
 */
export const fetchGitCodeAsApp =
  (deps: AppGitDeps): TaskProgram =>
  async (task) => {
    const fetch = readFetch(task.arguments, deps)
    const { address } = fetch
    if (address.kind !== 'http') throw new TaskFailure('repository must begin with https://')
    demandAppArguments(task.arguments)
    const token = await installationToken(task, address, deps)
    await fetchRepository(task, fetch, { username: 'x-access-token', token }, deps)
  }

async function installationToken(task: RunningTask, address: HttpAddress, deps: AppGitDeps): Promise<string> {
  const { appId = '', installationId = '', privateKey = '', apiUrl } = task.arguments
  const baseUrl = (apiUrl ?? apiOf(address)).replace(/\/+$/, '')
  const name =
    address.pathname
      .split('/')
      .at(-1)
      ?.replace(/\.git$/, '') ?? ''
  try {
    const auth = createAppAuth({
      appId,
      privateKey,
      request: request.defaults({ baseUrl, request: { fetch: deps.fetch, signal: task.signal } }),
      log: { warn: (message: string) => task.log(message) },
    })
    const { token } = await auth({
      type: 'installation',
      installationId: Number(installationId),
      repositoryNames: [decodeURIComponent(name)],
      permissions: { contents: 'read' },
    })
    return token
  } catch (error) {
    if (task.signal.aborted) throw error
    throw new TaskFailure(`${new URL(baseUrl).host} gave no token for the app: ${reasonOf(error)}`)
  }
}

/** Errors of fetch say why in the cause of their cause. */
function reasonOf(error: unknown): string {
  let at = error as Error
  while (at.cause instanceof Error) at = at.cause
  return at.message.slice(0, 500)
}
