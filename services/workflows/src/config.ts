import { variable } from '@atrium/kernel/config'

/** The workflows service's part of the environment. */
export const workflowsEnv = {
  ATRIUM_ENGINE: variable.string(
    'What runs the tasks of workflows: `local` (processes on this machine, for one that is trusted with them); `local` when unset, but with NODE_ENV=production none, and runs are refused (503)',
    { pattern: '^(local|argo)$' },
  ),
  ATRIUM_ALLOWED_ADDRESSES: variable.list(
    'Hosts, addresses and CIDR ranges that requests made for tenants (git, GitHub, Ray) may reach besides public addresses',
  ),
  ATRIUM_WORKFLOWS_CA_FILE: variable.string(
    'PEM file of certificate authorities for git, GitHub and Ray servers, instead of the system’s',
  ),
  ATRIUM_WORKFLOWS_FILE_REPOSITORIES: variable.boolean(
    'Whether fetch-git-code takes `file://` addresses of this machine: for tests',
    { fallback: false },
  ),
  ATRIUM_WORKFLOWS_ACTIVE_RUNS: variable.integer(
    'Runs of one space that have not ended, waiting ones included; further ones are refused (429)',
    { fallback: 10_000, minimum: 1, maximum: 1_000_000 },
  ),
  ATRIUM_WORKFLOWS_RATE_LIMIT: variable.integer(
    'Requests a minute to the workflows service from one user or machine client; off by default',
    { minimum: 1 },
  ),
  ATRIUM_WORKFLOWS_RATE_LIMIT_BURST: variable.integer(
    'Requests that one of them may send at once after a rest; the limit of a minute by default',
    { minimum: 1 },
  ),
} as const
