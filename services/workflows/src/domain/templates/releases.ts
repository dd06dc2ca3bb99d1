import {
  commandLine,
  environment,
  gitRepository,
  gitRevision,
  httpAddress,
  jsonObject,
  number,
  pathWithin,
  wholeNumber,
  word,
} from './checks.ts'
import { type ArgumentSpec, optional, required, type TemplateRelease } from './template.ts'

const WEEK_SECONDS = 604_800
const timeout = optional(
  'timeoutSeconds',
  'Longest time that the task may take; by default the engine’s limit',
  {
    check: wholeNumber(1, WEEK_SECONDS),
  },
)

const repository: readonly ArgumentSpec[] = [
  required('repository', 'Address of the Git repository: https, ssh, or user@host:path', {
    check: gitRepository,
  }),
  optional('revision', 'Branch, tag or commit; the default branch when absent', { check: gitRevision }),
  optional('path', 'Folder of the workspace to clone into; the workspace itself when absent', {
    check: pathWithin,
  }),
  optional('depth', 'How many commits of history to fetch, 0 for all; 1 when absent', {
    check: wholeNumber(0, 1_000_000),
  }),
]

const FETCH = 'Clones a Git repository into the workspace that the tasks of a run share'

const python: readonly ArgumentSpec[] = [
  required('script', 'Path of the script in the workspace', { check: pathWithin }),
  optional('args', 'Arguments of the script, separated by blanks; quotes group, and no shell reads them', {
    check: commandLine,
  }),
  optional(
    'requirements',
    'Path of a requirements file in the workspace: its packages are installed for the script',
    {
      check: pathWithin,
    },
  ),
  optional('workingDirectory', 'Folder of the workspace to run in; the workspace itself when absent', {
    check: pathWithin,
  }),
  optional(
    'image',
    'Container image, for engines that run containers; the local engine runs its own Python',
    {
      check: word(512),
    },
  ),
]

const PYTHON = 'Runs a Python script of the workspace on one node'

/** Every release of every template, oldest first. A release that was published stays as it is. */
export const RELEASES: readonly TemplateRelease[] = [
  { name: 'fetch-git-code', version: 'v1.0.0', description: FETCH, arguments: repository },
  {
    name: 'fetch-git-code',
    version: 'v1.1.0',
    description: FETCH,
    arguments: [
      ...repository,
      optional('token', 'Token or password for https, by secret reference', { secrets: 'only' }),
      optional('username', 'User that the token belongs to; most servers take any', { check: word(256) }),
      optional('sshKey', 'Private key for ssh, by secret reference', { secrets: 'only' }),
      optional('knownHosts', 'The ssh server’s keys, as ssh-keyscan prints them', { secrets: 'within' }),
    ],
  },
  {
    name: 'fetch-git-code-atc',
    version: 'v1.0.0',
    description: `${FETCH}, with the credentials of an app of the code-hosting service`,
    arguments: [
      ...repository,
      required('appId', 'Id of the app', { check: word(128) }),
      required('installationId', 'Id of the app’s installation for the repository', { check: word(128) }),
      required('privateKey', 'The app’s private key (PEM), by secret reference', { secrets: 'only' }),
      optional('apiUrl', 'Address of the service’s API; by default that of the repository’s host', {
        check: httpAddress,
      }),
    ],
  },
  { name: 'run-python-code', version: 'v1.0.0', description: PYTHON, arguments: python },
  {
    name: 'run-python-code',
    version: 'v1.1.0',
    description: PYTHON,
    arguments: [
      ...python,
      optional('env', 'More environment variables: a JSON object of strings, in which secrets may stand', {
        secrets: 'within',
        isJson: true,
        check: environment,
      }),
      timeout,
    ],
  },
  {
    name: 'submit-ray-job',
    version: 'v1.0.0',
    description: 'Submits a job to a Ray cluster and follows it to its end',
    arguments: [
      required('entrypoint', 'Command that the cluster runs'),
      optional('runtimeEnv', 'Ray’s runtime environment: a JSON object, in which secrets may stand', {
        secrets: 'within',
        isJson: true,
        check: jsonObject,
      }),
      optional('rayAddress', 'Address of the cluster’s Jobs API, like http://ray.example:8265', {
        check: httpAddress,
      }),
      optional('rayCluster', 'Name of a RayCluster, for engines on Kubernetes', { check: word(63) }),
      optional('entrypointNumCpus', 'Processors for the entrypoint', { check: number(0, 100_000) }),
      optional('entrypointNumGpus', 'Graphics processors for the entrypoint', { check: number(0, 100_000) }),
      optional('token', 'Token of the cluster’s Jobs API, by secret reference', { secrets: 'only' }),
      timeout,
    ],
    oneOf: ['rayAddress', 'rayCluster'],
  },
]
