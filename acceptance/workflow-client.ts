import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type GitServer, startGitServer } from '@atrium/testing'
import { clientTokenOf, demandJson, sendJson } from './callers.ts'
import { finish, freePort, spawnAtrium } from './processes.ts'
import { CLIENT } from './retrieval-client.ts'

export interface RunTask {
  readonly name: string
  readonly status: string
  readonly message: string
  readonly startedAt: string | null
  readonly completedAt: string | null
}

export interface Run {
  readonly runId: string
  readonly status: string
  readonly message: string
  readonly completedAt: string | null
  readonly tasks: readonly RunTask[]
}

export interface Task {
  readonly name: string
  readonly templateRef: { readonly name: string; readonly version: string }
  readonly arguments: Readonly<Record<string, string>>
  readonly dependencies: readonly string[]
}

/** Folders, ports and a repository for servers of one platform whose tasks are run by this machine. */
export interface WorkflowSetUp {
  readonly git: GitServer
  readonly dataDir: string
  readonly urls: readonly string[]
  /** The environment of one of its servers. */
  env(server: number): Record<string, string>
  close(): Promise<void>
}

export async function setUpWorkflows(
  options: { servers?: number; files: Readonly<Record<string, string>> } & {
    env?: Readonly<Record<string, string>>
  },
): Promise<WorkflowSetUp> {
  const git = await startGitServer()
  await git.commit('code', options.files)
  const dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-workflows-'))
  await chmod(dataDir, 0o755)
  const ports = await Promise.all(Array.from({ length: options.servers ?? 1 }, freePort))
  const urls = ports.map((port) => `http://127.0.0.1:${port}`)
  return {
    git,
    dataDir,
    urls,
    env: (server) => ({
      ATRIUM_ENGINE: 'local',
      ATRIUM_ALLOWED_ADDRESSES: '127.0.0.1',
      ATRIUM_DATA_DIR: dataDir,
      ATRIUM_PORT: String(ports[server]),
      ATRIUM_PUBLIC_URL: urls[0] ?? '',
      ATRIUM_SANDBOX: 'on',
      ATRIUM_LOG_LEVEL: 'error',
      ATRIUM_BOOTSTRAP_CLIENT_ID: CLIENT.id,
      ATRIUM_BOOTSTRAP_CLIENT_SECRET: CLIENT.secret,
      ATRIUM_MASTER_KEY: Buffer.alloc(32, 17).toString('base64'),
      ...options.env,
    }),
    async close() {
      await git.close()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** A space, and what its owner does with its workflows. */
export class WorkflowSpace {
  readonly spaceId: string
  readonly token: string
  readonly #url: string

  private constructor(url: string, spaceId: string, token: string) {
    this.#url = url
    this.spaceId = spaceId
    this.token = token
  }

  /** Makes a space with an owner. */
  static async make(url: string, env: Readonly<Record<string, string>>): Promise<WorkflowSpace> {
    const superuser = await clientTokenOf(url, CLIENT)
    const spaces = `${url}/portal/v1/spaces`
    const named = { spaceName: 'workflows', appId: 'APP' }
    const { spaceId } = await demandJson<{ spaceId: string }>(spaces, 'POST', superuser, named)
    const owner = { qNumber: 'qx-owner', name: 'Owner', mailAddress: 'owner@example.test', role: 'owner' }
    await demandJson(`${spaces}/${spaceId}/users`, 'POST', superuser, owner)
    const token = (await finish(spawnAtrium(['token', '--user', 'qx-owner'], env))).stdout.trim()
    return new WorkflowSpace(url, spaceId, token)
  }

  at(path: string, url = this.#url): string {
    return `${url}/workflows/v1/spaces/${this.spaceId}/workflows/${path}`
  }

  /** Stores a workflow with one version, `v1`. */
  async push(workflowId: string, tasks: readonly Task[]): Promise<void> {
    await demandJson(this.at(workflowId), 'PUT', this.token, { name: workflowId })
    await demandJson(this.at(`${workflowId}/versions/v1`), 'PUT', this.token, { tasks })
  }

  start(workflowId: string): Promise<Run> {
    return demandJson(this.at(`${workflowId}/runs?stage=test&versionId=v1`), 'POST', this.token, {})
  }

  run(workflowId: string, runId: string): Promise<Run> {
    return demandJson(this.at(`${workflowId}/runs/${runId}`), 'GET', this.token)
  }

  send(method: string, path: string, body?: unknown): ReturnType<typeof sendJson> {
    return sendJson(this.at(path), method, this.token, body)
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(this.at(path), { headers: { authorization: `Bearer ${this.token}`, ...headers } })
  }
}

/** Fetches the repository of the set-up. */
export const fetchTask = (git: GitServer): Task => ({
  name: 'fetch',
  templateRef: { name: 'fetch-git-code', version: 'v1' },
  arguments: { repository: `${git.url}/code.git` },
  dependencies: [],
})

export const pythonTask = (
  name: string,
  given: Readonly<Record<string, string>>,
  dependencies: readonly string[],
): Task => ({
  name,
  templateRef: { name: 'run-python-code', version: 'v1' },
  arguments: given,
  dependencies,
})
