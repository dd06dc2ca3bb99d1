import { variable } from '@atrium/kernel/config'

export { runsTasksHere } from './domain/engine-choice.ts'
export { secretPurpose } from './domain/secret-purpose.ts'

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
  ATRIUM_WORKFLOWS_FILE_REPOSITORIES: variable.list(
    'Folders of this machine whose repositories fetch-git-code takes by `file://`; tasks of every space can read them: for trying things out',
  ),
  ATRIUM_WORKFLOWS_TASKS: variable.integer(
    'Tasks that this process runs at once; 0: it runs none. By default twice its cores, at least 4',
    { maximum: 10_000 },
  ),
  ATRIUM_WORKFLOWS_TASKS_PER_SPACE: variable.integer(
    'Of these, those of one space; three quarters by default',
    { minimum: 1, maximum: 10_000 },
  ),
  ATRIUM_WORKFLOWS_TASK_SECONDS: variable.integer('Longest time of a task', {
    fallback: 86_400,
    minimum: 1,
  }),
  ATRIUM_WORKFLOWS_TASK_PROCESSOR_SECONDS: variable.integer('Processor time of one process of a task', {
    fallback: 86_400,
    minimum: 1,
  }),
  ATRIUM_WORKFLOWS_TASK_MEMORY_MB: variable.integer(
    'Address space of one process of a task, MiB; half of this machine’s memory by default, at least 4096',
    { minimum: 64 },
  ),
  ATRIUM_WORKFLOWS_TASK_PROCESSES: variable.integer(
    'Processes and threads of a task; of all tasks of a space where each space has a user of its own',
    { fallback: 1024, minimum: 16 },
  ),
  ATRIUM_WORKFLOWS_TASK_FILE_MB: variable.integer('Largest file that a task writes, MiB', {
    fallback: 10_240,
    minimum: 1,
  }),
  ATRIUM_WORKFLOWS_TASK_OPEN_FILES: variable.integer('Files that one process of a task has open', {
    fallback: 4096,
    minimum: 64,
  }),
  ATRIUM_WORKFLOWS_WORKSPACE_MB: variable.integer('Folder of a run, MiB; one that outgrows it is ended', {
    fallback: 20_480,
    minimum: 1,
  }),
  ATRIUM_WORKFLOWS_WORKSPACE_FILES: variable.integer('The same, of its files, folders and links', {
    fallback: 200_000,
    minimum: 100,
  }),
  ATRIUM_WORKFLOWS_DISK_MB_PER_SPACE: variable.integer(
    'Folders of all runs of one space and its cache, MiB: over it the oldest folders of failed runs go, then the cache, then no further run begins',
    { fallback: 102_400, minimum: 1 },
  ),
  ATRIUM_WORKFLOWS_FILES_PER_SPACE: variable.integer('The same, of their files, folders and links', {
    fallback: 1_000_000,
    minimum: 100,
  }),
  ATRIUM_WORKFLOWS_DISK_RESERVE_MB: variable.integer(
    'Free space on the disk of the data folder, MiB, below which the space that holds most loses folders of failed runs, then its largest run',
    { fallback: 1024 },
  ),
  ATRIUM_WORKFLOWS_TASK_ENV: variable.list(
    'NAME=value, comma-separated: given to every process of tasks, like HTTPS_PROXY or PIP_INDEX_URL. Tenants can read them',
  ),
  ATRIUM_PYTHON: variable.string('Python of run-python-code on the local engine: a path, or a name in PATH', {
    fallback: 'python3',
  }),
  ATRIUM_WORKFLOWS_ACTIVE_RUNS: variable.integer(
    'Runs of one space that have not ended, waiting ones included; further ones are refused (429)',
    { fallback: 10_000, minimum: 1, maximum: 1_000_000 },
  ),
  ATRIUM_WORKFLOWS_PER_SPACE: variable.integer('Workflows of one space; further ones are refused (409)', {
    fallback: 1000,
    minimum: 1,
  }),
  ATRIUM_WORKFLOWS_VERSIONS_PER_SPACE: variable.integer('The same, of versions of all its workflows', {
    fallback: 10_000,
    minimum: 1,
  }),
  ATRIUM_WORKFLOWS_CONFIGURATIONS_PER_SPACE: variable.integer(
    'The same, of configurations of all its workflows',
    { fallback: 5000, minimum: 1 },
  ),
  ATRIUM_WORKFLOWS_SECRETS_PER_SPACE: variable.integer('The same, of secrets', {
    fallback: 1000,
    minimum: 1,
  }),
  ATRIUM_WORKFLOWS_TRIGGERS_PER_SPACE: variable.integer('The same, of triggers of all its workflows', {
    fallback: 2000,
    minimum: 1,
  }),
  ATRIUM_WORKFLOWS_SCHEDULES_PER_SPACE: variable.integer('The same, of schedules that are enabled', {
    fallback: 200,
    minimum: 1,
  }),
  ATRIUM_WORKFLOWS_ARTIFACTS_MB_PER_SPACE: variable.integer(
    'Artifacts that are kept of all runs of one space, MiB; further ones are not kept, and the task’s log says so',
    { fallback: 102_400, minimum: 1 },
  ),
  ATRIUM_ARTIFACTS_URI: variable.string(
    'Where files that tasks leave are kept: a folder, or object storage as s3://bucket/path with the vendor’s own variables; by default the folder `artifacts` of the data folder',
  ),
  AWS_ENDPOINT: variable.string('Address of object storage that is not Amazon’s'),
  ATRIUM_WORKFLOWS_RETENTION_DAYS: variable.integer(
    'Days after which logs, events, metrics, artifacts and workspace of a run that ended are removed; a failed one cannot be retried after that',
    { fallback: 30, minimum: 1, maximum: 36_500 },
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
