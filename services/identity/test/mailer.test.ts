import { once } from 'node:events'
import { createServer } from 'node:net'
import { createLogger } from '@atrium/kernel/log'
import { TEST_CERTIFICATE } from '@atrium/testing'
import { describe, expect, test } from 'vitest'
import { createMailer, type MailerOptions } from '../src/adapters/mailer.ts'
import { createTestDatabase, startIdentityServer } from './identity-server.ts'
import { startSmtp } from './mail-server.ts'

const lines: string[] = []
const log = createLogger({ level: 'debug', destination: { write: (line) => void lines.push(line) } })
const mailer = (smtpUrl: string, more: Partial<MailerOptions> = {}) =>
  createMailer({
    smtpUrl,
    from: 'Atrium <atrium@example.test>',
    publicUrl: 'https://atrium.test',
    log,
    timeout: 1000,
    ...more,
  })
const secret = { to: 'ops@example.test', clientId: 'svc-1', secret: 'the-very-secret' }
const invitation = {
  to: 'ada@example.test',
  spaceName: 'Engines',
  invitedBy: 'Charles',
  link: 'https://atrium.test/invitations/1',
}

describe('mails', () => {
  test('carry a client’s secret, over STARTTLS', async () => {
    await using smtp = await startSmtp()
    await mailer(`smtp://localhost:${smtp.port}`, { ca: TEST_CERTIFICATE }).sendClientSecret(secret)
    const [mail] = smtp.mails
    expect(mail?.to).toEqual(['ops@example.test'])
    expect(mail?.text).toMatch(/^From: Atrium <atrium@example\.test>/m)
    expect(mail?.text).toMatch(/^Subject: Secret of the client svc-1/m)
    expect(mail?.text).toMatch(/client secret {2}the-very-secret/)
    expect(mail?.text).toContain('https://atrium.test')
  })

  test('carry an invitation, over TLS with a password', async () => {
    await using smtp = await startSmtp({
      secure: true,
      authOptional: false,
      onAuth: ({ username, password }, _session, done) =>
        username === 'atrium@x' && password === 'p@ss'
          ? done(null, { user: username })
          : done(new Error('no')),
    })
    const url = (password: string) => `smtps://atrium%40x:${password}@localhost:${smtp.port}`
    await mailer(url('p%40ss'), { ca: TEST_CERTIFICATE }).sendInvitation(invitation)
    expect(smtp.mails[0]?.text).toContain('Invitation to the space Engines')
    await expect(
      mailer(url('wrong'), { ca: TEST_CERTIFICATE }).sendInvitation(invitation),
    ).rejects.toMatchObject({
      status: 502,
    })
  })

  test('are not sent where the server’s certificate is not trusted', async () => {
    await using plain = await startSmtp()
    await using tls = await startSmtp({ secure: true })
    for (const url of [`smtp://localhost:${plain.port}`, `smtps://localhost:${tls.port}`]) {
      await expect(mailer(url).sendClientSecret(secret)).rejects.toMatchObject({ code: 'mail_failed' })
    }
    expect([...plain.mails, ...tls.mails]).toEqual([])
  })

  test('are not sent in the clear, unless that was asked for', async () => {
    await using smtp = await startSmtp({ disabledCommands: ['STARTTLS'] })
    await expect(mailer(`smtp://localhost:${smtp.port}`).sendClientSecret(secret)).rejects.toMatchObject({
      code: 'mail_failed',
    })
    expect(smtp.mails).toEqual([])
    await mailer(`smtp://localhost:${smtp.port}?tls=never`).sendClientSecret(secret)
    expect(smtp.mails).toHaveLength(1)
  })

  test('fail in time when the server is silent, gone, or refuses', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as { port: number }
    await expect(mailer(`smtp://127.0.0.1:${port}?tls=never`).sendClientSecret(secret)).rejects.toMatchObject(
      {
        status: 502,
        code: 'mail_failed',
      },
    )
    silent.close()
    await expect(mailer('smtp://127.0.0.1:1?tls=never').sendClientSecret(secret)).rejects.toMatchObject({
      code: 'mail_failed',
    })
    await using refusing = await startSmtp({
      onRcptTo: (_address, _session, done) => done(new Error('no such box')),
    })
    await expect(
      mailer(`smtp://127.0.0.1:${refusing.port}?tls=never`).sendClientSecret(secret),
    ).rejects.toMatchObject({ code: 'mail_failed' })
  })

  test('take no header, line or recipient from a name', async () => {
    await using smtp = await startSmtp()
    const to = mailer(`smtp://127.0.0.1:${smtp.port}?tls=never`)
    const evil = 'Engines\r\nBcc: eve@evil.test\r\n\r\nClick https://evil.test\u2028x'
    await to.sendInvitation({ ...invitation, spaceName: evil, invitedBy: evil, link: evil })
    await to.sendClientSecret({ ...secret, clientId: evil })
    for (const mail of smtp.mails) {
      expect(mail.to).toHaveLength(1)
      expect(mail.text).not.toMatch(/^bcc:/im)
      expect(mail.text).not.toMatch(/^Click/m)
    }
    for (const address of [
      'a@b.test\r\nBcc: eve@evil.test',
      'a@b.test, eve@evil.test',
      'Eve <eve@evil.test>',
      'no-address',
      '',
      'a@b.test\0',
      `${'x'.repeat(65)}@b.test`,
    ]) {
      await expect(to.sendInvitation({ ...invitation, to: address })).rejects.toMatchObject({ status: 400 })
    }
    expect(smtp.mails).toHaveLength(2)
  })

  test('leave no secret in the log', () => {
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.join('')).not.toMatch(/the-very-secret|p@ss|p%40ss/)
  })
})

describe('identity', () => {
  test('has mail where it is configured, and says what is missing', async () => {
    await using database = await createTestDatabase()
    await using smtp = await startSmtp()
    const smtpUrl = `smtp://127.0.0.1:${smtp.port}?tls=never`
    await using without = await startIdentityServer(database.url)
    expect(without.identity.mail).toBeUndefined()
    await using configured = await startIdentityServer(database.url, {
      env: { SMTP_URL: smtpUrl, ATRIUM_MAIL_FROM: 'atrium@example.test' },
    })
    await configured.identity.mail?.sendClientSecret(secret)
    expect(smtp.mails).toHaveLength(1)
    await expect(startIdentityServer(database.url, { env: { SMTP_URL: smtpUrl } })).rejects.toThrow(
      'ATRIUM_MAIL_FROM',
    )
  })
})
