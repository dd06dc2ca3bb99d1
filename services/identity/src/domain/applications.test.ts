import { expect, test } from 'vitest'
import { mayRedirectTo, mayReturnTo } from './applications.ts'

const application = {
  clientId: 'a',
  name: 'A',
  redirectUris: ['https://app.test/callback', 'http://127.0.0.1/callback', 'com.example.app:/done'],
}

test.each([
  ['https://app.test/callback', true],
  ['http://127.0.0.1:49152/callback', true],
  ['com.example.app:/done', true],
  ['https://app.test:444/callback', false],
  ['https://app.test/callback/', false],
  ['https://app.test/callback?x=1', false],
  ['https://app.test/callback#x', false],
  ['https://app.test.evil.test/callback', false],
  ['https://app.test@evil.test/callback', false],
  ['http://app.test/callback', false],
  ['http://127.0.0.1:49152/other', false],
  ['http://127.0.0.1@evil.test/callback', false],
  ['https://127.0.0.1/callback', false],
  ['http://localhost/callback', false],
  ['javascript:alert(1)', false],
  ['', false],
])('a redirect to %s: %s', (uri, allowed) => {
  expect(mayRedirectTo(application, uri)).toBe(allowed)
})

test.each([
  ['https://app.test/', true],
  ['https://app.test/goodbye?x=1', true],
  ['http://127.0.0.1:3000/', true],
  ['https://evil.test/', false],
  ['http://app.test/', false],
  ['com.example.app:/x', false],
  ['//app.test', false],
])('a return to %s after signing out: %s', (uri, allowed) => {
  expect(mayReturnTo(application, uri)).toBe(allowed)
})
