import { describe, expect, it } from 'vitest'
import { isInnerPath, isRevision, parseGitAddress } from './git-address.ts'

const parse = (text: string, allowsFile = false) => parseGitAddress(text, { allowsFile })

describe('addresses of repositories', () => {
  it.each([
    ['https://github.com/a/b.git', { kind: 'http', origin: 'https://github.com', pathname: '/a/b.git' }],
    ['http://git.corp:8080/x', { kind: 'http', origin: 'http://git.corp:8080' }],
    ['https://[2606:4700::1]/x', { kind: 'http', origin: 'https://[2606:4700::1]' }],
    [
      'ssh://git@github.com/a/b.git',
      { kind: 'ssh', url: 'ssh://git@github.com:22/a/b.git', host: 'github.com', port: 22 },
    ],
    [
      'ssh://git.corp:2222/~me/b',
      { kind: 'ssh', url: 'ssh://git.corp:2222/~me/b', host: 'git.corp', port: 2222 },
    ],
    ['git@github.com:a/b.git', { kind: 'ssh', url: 'ssh://git@github.com:22/./a/b.git', host: 'github.com' }],
    ['git@[::1]:/srv/b.git', { kind: 'ssh', url: 'ssh://git@[::1]:22/srv/b.git', host: '::1' }],
  ])('takes %s', (text, expected) => {
    expect(parse(text)).toMatchObject(expected)
  })

  it.each([
    '',
    ' https://a/b',
    'https://a/b c',
    'https://a/b\n--upload-pack=touch /tmp/x',
    '--upload-pack=touch',
    '-oProxyCommand=touch',
    'ssh://-oProxyCommand=touch/x',
    'ssh://-x@host/x',
    '-oProxyCommand=touch:x/y',
    'git@-oProxyCommand=x:y',
    'git@host:-x',
    'ext::sh -c touch% /tmp/x',
    'ext::sh',
    'fd::17/x',
    'git://host/x',
    'ftp://host/x',
    'file:///etc',
    'file://host/etc',
    '/etc',
    './x',
    '../x',
    'x',
    'https://user@host/x',
    'https://user:password@host/x',
    'https://host/x?upload=1',
    'https://host/x#y',
    'https://',
    'https://host\\@evil/x',
    'ssh://host/',
    'ssh://ho$(x)st/a',
    'ssh://ho`x`st/a',
    "git@ho'st:a",
    'C:\\repository',
    `https://host/${'x'.repeat(2048)}`,
  ])('refuses %j', (text) => {
    expect(parse(text)).toEqual(expect.any(String))
  })

  it('takes files only where they are allowed, and of this machine only', () => {
    expect(parse('file:///srv/repository', true)).toEqual({ kind: 'file', url: 'file:///srv/repository' })
    expect(parse('file://host/srv', true)).toEqual(expect.any(String))
    expect(parse('/srv/repository', true)).toEqual(expect.any(String))
  })
})

it.each([
  'main',
  'v1.2.3',
  'feature/x-1',
  'refs/pull/7/head',
  'a'.repeat(40),
  '0abc123',
  'HEAD',
  'ümlaut',
  '1.x',
])('takes the revision %s', (text) => expect(isRevision(text)).toBe(true))

it.each([
  '',
  '-x',
  '--upload-pack=x',
  '+main',
  'main:refs/heads/x',
  'a..b',
  'a b',
  'a\nb',
  '^main',
  'main^',
  'main~1',
  'main@{1}',
  '@',
  'a?',
  'a*',
  '[a',
  'a\\b',
  '/a',
  'a/',
  'a//b',
  'a.lock',
  'a.',
  'a'.repeat(256),
])('refuses the revision %j', (text) => expect(isRevision(text)).toBe(false))

it.each(['.', 'a', 'a/b-c/d.e', 'ü/x y'])('takes the folder %s', (text) =>
  expect(isInnerPath(text)).toBe(true),
)

it.each([
  '',
  '/',
  '/a',
  '..',
  '../a',
  'a/../b',
  'a/..',
  'a//b',
  './a',
  'a/.',
  'a/',
  '.git',
  'a/.GIT/b',
  '-a',
  'a\0',
  'a\nb',
  'a\\b',
])('refuses the folder %j', (text) => expect(isInnerPath(text)).toBe(false))
