import type { GitAddress } from '../../domain/git-address.ts'
import { SSH_COMMAND } from './ssh-command.ts'

/** What proves to the server who asks. Secrets: they go into environments and nowhere else. */
export interface GitCredentials {
  readonly username?: string | undefined
  readonly token?: string | undefined
  readonly sshKey?: string | undefined
  /** The server's keys, as lines of a `known_hosts` file. */
  readonly knownHosts?: string | undefined
}

/** How git leaves this machine. */
export interface GitWay {
  /** Of an HTTP proxy. */
  readonly proxyUrl?: string | undefined
  /** On loopback, leading to the ssh server. */
  readonly sshPort?: number | undefined
  /** PEM file of authorities instead of the system's. */
  readonly caFile?: string | undefined
}

/** Answers git's question for a password from the environment. Git asks for the server of this configuration key only. */
const CREDENTIAL_HELPER =
  '!f() { test "$1" = get && printf "username=%s\\npassword=%s\\n" "$ATRIUM_GIT_USERNAME" "$ATRIUM_GIT_TOKEN"; }; f'

/** No transfer under 1,000 bytes a second for a minute. */
const SLOWEST = { 'http.lowSpeedLimit': '1000', 'http.lowSpeedTime': '60' }

/** Settings that no file and no repository decides. */
function settingsOf(address: GitAddress, { token }: GitCredentials, way: GitWay): Record<string, string> {
  return {
    // Folders of a sandbox may belong to another user than the one who runs git.
    'safe.directory': '*',
    'core.hooksPath': '/dev/null',
    'core.fsmonitor': 'false',
    'submodule.recurse': 'false',
    'fetch.recurseSubmodules': 'false',
    'gc.auto': '0',
    'maintenance.auto': 'false',
    'advice.detachedHead': 'false',
    ...SLOWEST,
    ...(way.proxyUrl === undefined ? {} : { 'http.proxy': way.proxyUrl, 'http.proxyAuthMethod': 'basic' }),
    ...(way.caFile === undefined ? {} : { 'http.sslCAInfo': way.caFile }),
    ...(token === undefined || address.kind !== 'http'
      ? {}
      : { [`credential.${address.origin}.helper`]: CREDENTIAL_HELPER }),
  }
}

/** Environment of git for one repository: it asks nobody, runs nothing of the repository, and speaks one protocol. */
export function gitEnvironment(
  address: GitAddress,
  credentials: GitCredentials,
  way: GitWay,
): Record<string, string> {
  const settings = Object.entries(settingsOf(address, credentials, way))
  return {
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    // No template, so no hooks.
    GIT_TEMPLATE_DIR: '',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'false',
    SSH_ASKPASS_REQUIRE: 'never',
    GIT_PROTOCOL_FROM_USER: '0',
    GIT_ALLOW_PROTOCOL: address.kind === 'http' ? 'http:https' : address.kind,
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], at) => [
        [`GIT_CONFIG_KEY_${at}`, key],
        [`GIT_CONFIG_VALUE_${at}`, value],
      ]),
    ),
    ...(address.kind === 'http' && credentials.token !== undefined
      ? {
          ATRIUM_GIT_USERNAME: credentials.username ?? 'x-access-token',
          ATRIUM_GIT_TOKEN: credentials.token,
        }
      : {}),
    ...(address.kind === 'ssh'
      ? {
          GIT_SSH_COMMAND: SSH_COMMAND,
          GIT_SSH_VARIANT: 'ssh',
          ATRIUM_SSH_HOST: hostKeyName(address),
          ATRIUM_SSH_PORT: String(way.sshPort ?? address.port),
          ATRIUM_SSH_KEY: credentials.sshKey ?? '',
          ATRIUM_KNOWN_HOSTS: credentials.knownHosts ?? '',
        }
      : {}),
  }
}

/** The name under which `known_hosts` lists a server. */
const hostKeyName = ({ host, port }: { host: string; port: number }): string =>
  port === 22 ? host : `[${host}]:${port}`
