import { startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PEOPLE } from './browser.ts'
import { startSmtp } from './mail-server.ts'

let smtp: Awaited<ReturnType<typeof startSmtp>>
let platform: TestPlatform
beforeAll(async () => {
  smtp = await startSmtp()
  platform = await startTestPlatform({
    env: {
      SMTP_URL: `smtp://127.0.0.1:${smtp.port}?tls=never`,
      ATRIUM_MAIL_FROM: 'Atrium <atrium@example.test>',
    },
  })
})
afterAll(async () => {
  await platform.close()
  await smtp[Symbol.asyncDispose]()
})

const PATH = '/auth/v1/admin/accounts'
const call = (method: string, path: string, body?: unknown) =>
  platform.call(method, `${PATH}${path}`, { token: platform.superuser.token, body })
const create = (qxId: string, mailAddress?: string) => call('POST', '', { qxId, name: 'N', mailAddress })

/** The token in the last mail; quoted-printable breaks long lines. */
const mailed = (): string =>
  /token=(?:3D)?([\w-]{43})/.exec((smtp.mails.at(-1)?.text ?? '').replaceAll(/=\r?\n/g, ''))?.[1] ??
  'no token'

test('a link goes out by mail where the account has an address, and then not in the answer', async () => {
  const made = await create('qx-mailed', 'mailed@example.test')
  expect([made.status, made.body.delivery, made.body.passwordLink]).toEqual([201, 'mail', undefined])
  expect(smtp.mails.at(-1)?.to).toEqual(['mailed@example.test'])
  const opened = () => platform.call('GET', `${PEOPLE}/choose-password?token=${mailed()}`)
  expect((await opened()).body).toContain('for qx-mailed')
  const again = await call('POST', '/qx-mailed:reset-password')
  expect([again.status, again.body.delivery, again.body.passwordLink]).toEqual([200, 'mail', undefined])
  expect((await opened()).status).toBe(200)
  expect((await create('qx-unmailed')).body).toMatchObject({ delivery: 'answer' })
})

test('a mail that the server does not take is a 502, and leaves nothing behind', async () => {
  await create('qx-waiting', 'waiting@example.test')
  const [before, taken] = [mailed(), smtp.mails.length]
  await smtp[Symbol.asyncDispose]()
  const refused = await create('qx-lost', 'lost@example.test')
  expect([refused.status, refused.body.error]).toEqual([502, 'mail_failed'])
  expect((await call('GET', '/qx-lost')).status).toBe(404)
  expect((await call('POST', '/qx-waiting:reset-password')).status).toBe(502)
  expect(smtp.mails).toHaveLength(taken)
  // The link that did go out still works.
  expect((await platform.call('GET', `${PEOPLE}/choose-password?token=${before}`)).status).toBe(200)
})

test('a disabled account has no good token, whoever made it', async () => {
  await create('qx-ended')
  const token = await platform.userToken({ qxId: 'qx-ended' })
  const status = async () => (await platform.call('GET', '/auth/v1/sessions', { token })).status
  expect(await status()).toBe(200)
  expect((await call('PATCH', '/qx-ended', { disabled: true })).status).toBe(200)
  await expect.poll(status, { timeout: 10_000, interval: 50 }).toBe(401)
})
