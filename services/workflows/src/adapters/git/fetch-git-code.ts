import { TaskFailure, type TaskProgram } from '../local/program.ts'
import { fetchRepository, type GitDeps, readFetch } from './fetch-repository.ts'

/**
 * Template `fetch-git-code`: a revision of a repository, put into the workspace. Over https with the argument `token`
 * (and `username` where the server asks for a certain one), over ssh with `sshKey` and `knownHosts`.
 */
export const fetchGitCode =
  (deps: GitDeps): TaskProgram =>
  async (task) => {
    const { username, token, sshKey, knownHosts } = task.arguments
    const fetch = readFetch(task.arguments, deps)
    if (fetch.address.kind === 'ssh') {
      if (sshKey === undefined) throw new TaskFailure('sshKey is needed for a repository over ssh')
      if (knownHosts === undefined) {
        throw new TaskFailure(
          'knownHosts is needed for a repository over ssh: the server’s keys, as ssh-keyscan prints them',
        )
      }
    }
    await fetchRepository(task, fetch, { username, token, sshKey, knownHosts }, deps)
  }
