/** A repository as git is to reach it; nothing of it can be taken for an option or another transport. */
export type GitAddress =
  | { readonly kind: 'http'; readonly url: string; readonly origin: string; readonly pathname: string }
  | {
      readonly kind: 'ssh'
      readonly url: string
      readonly host: string
      readonly port: number
    }
  | { readonly kind: 'file'; readonly url: string }

const LONGEST = 2048
const HOST = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9.]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])$/
const USER = /^[A-Za-z0-9][-A-Za-z0-9._]*$/
/** `user@host:path`, as ssh's own programs have it. */
const SCP_LIKE = /^(?:([^@:/]+)@)?([^@:/[\]]+|\[[^\]]+\]):([^:].*)$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const UNSEEN = /[\u0000-\u0020\u007f-\u00a0\u2028\u2029\\]/

const bare = (host: string): string => host.replace(/^\[(.*)\]$/, '$1')

function sshAddress(user: string | undefined, host: string, port: number, path: string): GitAddress | string {
  if (!HOST.test(host)) return `the host ${host} is malformed`
  if (user !== undefined && !USER.test(user)) return `the user ${user} is malformed`
  if (!path.startsWith('/') || path.length < 2) return 'the path is missing'
  return {
    kind: 'ssh',
    url: `ssh://${user === undefined ? '' : `${user}@`}${host}:${port}${path}`,
    host: bare(host),
    port,
  }
}

/**
 * @param allowsFile whether `file://` addresses may be used
 * @returns why it is none, in words, for one that cannot be used
 */
export function parseGitAddress(text: string, { allowsFile }: { allowsFile: boolean }): GitAddress | string {
  if (text.length > LONGEST) return `is longer than ${LONGEST} characters`
  if (text === '' || text.startsWith('-') || UNSEEN.test(text)) return 'is no address of a repository'
  if (!text.includes('://')) {
    const [, user, host = '', path = ''] = SCP_LIKE.exec(text) ?? []
    if (path === '') return 'must begin with https://, ssh:// or be user@host:path'
    if (path.startsWith('-')) return 'is no address of a repository'
    // Relative to the user's home, which is what `~` says in the other form.
    return sshAddress(
      user,
      host,
      22,
      path.startsWith('/') ? path : path.startsWith('~') ? `/${path}` : `/./${path}`,
    )
  }
  if (!URL.canParse(text)) return 'is no address of a repository'
  const url = new URL(text)
  if (url.hash !== '' || url.search !== '') return 'may have no query and no fragment'
  if (url.password !== '') return 'may hold no password: give it as a secret in the argument token'
  if (url.protocol === 'ssh:') {
    return sshAddress(url.username || undefined, url.hostname, Number(url.port || 22), url.pathname)
  }
  if (url.protocol === 'http:' || url.protocol === 'https:') {
    if (url.username !== '') return 'may hold no user: give it in the argument username'
    return { kind: 'http', url: url.href, origin: url.origin, pathname: url.pathname }
  }
  if (url.protocol === 'file:') {
    return allowsFile && url.host === ''
      ? { kind: 'file', url: url.href }
      : 'must begin with https:// or ssh://: files of this machine are no repositories here'
  }
  return `must begin with https:// or ssh://, not ${url.protocol}//`
}

/** What can name a commit, a branch or a tag; git's own rules for names, and nothing that is an option or a refspec. */
export function isRevision(text: string): boolean {
  return (
    text.length > 0 &&
    text.length <= 255 &&
    !UNSEEN.test(text) &&
    !/^[-+/.^]|[~^:?*[]|\.\.|@\{|\/\/|\/$|\.$|\.lock$|^@$/.test(text)
  )
}

/** A folder within the workspace, without a step up: `.` is the workspace itself. */
export function isInnerPath(text: string): boolean {
  if (text === '.') return true
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  if (text.length > 512 || /[\u0000-\u001f\u007f\\]/.test(text)) return false
  const parts = text.split('/')
  return parts.every(
    (part) =>
      part !== '' && part !== '.' && part !== '..' && part.toLowerCase() !== '.git' && !part.startsWith('-'),
  )
}
