import { readFile } from 'node:fs/promises'
import type { EnvValues } from '@atrium/kernel/config'
import { OperatorError } from '@atrium/kernel/errors'
import type { workflowsEnv } from '../config.ts'
import { egressRule } from '../domain/egress-rule.ts'
import { egressAgent, egressFetch } from './egress/agent.ts'
import { egressSocket } from './egress/web-socket.ts'
import { fetchGitCode } from './git/fetch-git-code.ts'
import { fetchGitCodeAsApp } from './git/fetch-git-code-atc.ts'
import type { TaskProgram } from './local/program.ts'
import { submitRayJob } from './ray/submit-ray-job.ts'

/** Programs of templates that ask other machines, by the name of their template. */
export interface NetworkPrograms {
  readonly programs: Readonly<Record<string, TaskProgram>>
  close(): Promise<void>
}

/** @throws OperatorError naming the variable that is wrong */
export async function createNetworkPrograms(env: EnvValues<typeof workflowsEnv>): Promise<NetworkPrograms> {
  const egress = egressRule(env.ATRIUM_ALLOWED_ADDRESSES)
  const caFile = env.ATRIUM_WORKFLOWS_CA_FILE
  const ca = caFile === undefined ? undefined : await readAuthorities(caFile)
  const agent = egressAgent(egress, { ca })
  const git = { egress, caFile, fileFolders: env.ATRIUM_WORKFLOWS_FILE_REPOSITORIES }
  return {
    programs: {
      'fetch-git-code': fetchGitCode(git),
      'fetch-git-code-atc': fetchGitCodeAsApp({ ...git, fetch: egressFetch(agent) }),
      'submit-ray-job': submitRayJob({ agent, openSocket: egressSocket(egress, { ca }) }),
    },
    close: () => agent.destroy(),
  }
}

async function readAuthorities(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new OperatorError(`ATRIUM_WORKFLOWS_CA_FILE=${file}: ${(error as Error).message}`)
  }
}
