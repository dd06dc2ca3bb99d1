import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import Provider from 'oidc-provider'
import { expect, test } from 'vitest'

const require = createRequire(import.meta.url)
const read = (file: string): { version: string; dependencies: Record<string, string> } =>
  JSON.parse(readFileSync(file, 'utf8'))

/** What each patched function of the library was when the patch was written: look at the patch before this is changed. */
const PATCHED = {
  'OIDCContext.urlFor': '35570db5d03a5f51',
  'Client.compareClientSecret': '7a404f9c25995b01',
  'Client.redirectUriAllowed': '4336b785844e3903',
  'Client.postLogoutRedirectUriAllowed': 'a0fca54e070e8017',
  'Session.loginAccount': '24d3e2a31978d37b',
  'Session.destroy': '0a3e278479bbe64b',
} as const

test('the library is the very version that the patches were written for', () => {
  const pinned = read(require.resolve('../../package.json')).dependencies['oidc-provider']
  expect(pinned).toMatch(/^\d+\.\d+\.\d+$/)
  const entry = require.resolve('oidc-provider')
  const root = entry.slice(0, entry.lastIndexOf('oidc-provider') + 'oidc-provider'.length)
  expect(read(`${root}/package.json`).version).toBe(pinned)
})

test('each patched function is what it was', () => {
  const provider = new Provider('http://issuer.test')
  const prototypes: Readonly<Record<string, object>> = {
    OIDCContext: provider.OIDCContext.prototype,
    Client: provider.Client.prototype,
    Session: provider.Session.prototype,
  }
  const found = Object.keys(PATCHED).map((place) => {
    const [of = '', name = ''] = place.split('.')
    const patched: unknown = Reflect.get(prototypes[of] ?? {}, name)
    return [place, typeof patched === 'function' ? hash('sha256', String(patched)).slice(0, 16) : 'absent']
  })
  expect(Object.fromEntries(found)).toEqual(PATCHED)
})
