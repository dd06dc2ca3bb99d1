import { isMailAddress } from '@atrium/access'
import { invalidInput } from '@atrium/kernel/errors'
import type { Logger } from '@atrium/kernel/log'
import { createTransport } from 'nodemailer'
import { mailFailed } from '../errors.ts'
import type { Mailer } from '../ports.ts'

export interface MailerOptions {
  /** `smtps://` for TLS from the start; `smtp://` demands STARTTLS, unless its query says `tls=never`. */
  readonly smtpUrl: string
  readonly from: string
  readonly publicUrl: string
  readonly log: Logger
  /** Milliseconds. */
  readonly timeout?: number
  /** Certificates to trust instead of the system's, in PEM. */
  readonly ca?: string
}

/** Text that stands in a header or on a line of its own stays on it. */
const oneLine = (text: string): string =>
  text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, 200)

function transportOf({ smtpUrl, ca, timeout = 15_000 }: MailerOptions) {
  const url = new URL(smtpUrl)
  const isTls = url.protocol === 'smtps:'
  const isPlain = url.searchParams.get('tls') === 'never'
  return createTransport({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (isTls ? 465 : 587) : Number(url.port),
    secure: isTls,
    requireTLS: !isTls && !isPlain,
    ignoreTLS: !isTls && isPlain,
    connectionTimeout: timeout,
    greetingTimeout: timeout,
    socketTimeout: timeout,
    dnsTimeout: timeout,
    // A text is all that is ever sent: neither files nor addresses are fetched for it.
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(ca === undefined ? {} : { tls: { ca } }),
    ...(url.username === ''
      ? {}
      : {
          auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) },
        }),
  })
}

export function createMailer(options: MailerOptions): Mailer {
  const transport = transportOf(options)

  async function send(to: string, subject: string, lines: readonly string[]): Promise<void> {
    if (!isMailAddress(to)) throw invalidInput('mailAddress', 'is no e-mail address')
    try {
      await transport.sendMail({
        from: options.from,
        to: { name: '', address: to },
        subject: oneLine(subject),
        text: `${lines.join('\n')}\n`,
        headers: { 'Auto-Submitted': 'auto-generated' },
      })
    } catch (cause) {
      // The server's words may quote the mail, so they go no further than its code.
      const { code, responseCode } = cause as { code?: string; responseCode?: number }
      options.log.warn({ code, responseCode }, 'sending an e-mail failed')
      throw mailFailed()
    }
  }

  return {
    sendClientSecret: ({ to, clientId, secret }) =>
      send(to, `Secret of the client ${clientId}`, [
        `The client ${oneLine(clientId)} of Atrium at ${options.publicUrl} has a new secret:`,
        '',
        `  client id      ${oneLine(clientId)}`,
        `  client secret  ${oneLine(secret)}`,
        '',
        'It is not shown again. Keep it in a secret store and delete this mail.',
      ]),
    sendPasswordLink: ({ to, qxId, link }) =>
      send(to, 'Choose your password', [
        `Choose the password of your account ${oneLine(qxId)} of Atrium:`,
        '',
        `  ${oneLine(link)}`,
        '',
        'The link works once, for three days. If you did not expect this, you need not do anything.',
      ]),
    sendInvitation: ({ to, spaceName, invitedBy, link }) =>
      send(to, `Invitation to the space ${spaceName}`, [
        `${oneLine(invitedBy)} invites you to the space “${oneLine(spaceName)}” of Atrium:`,
        '',
        `  ${oneLine(link)}`,
        '',
        'If you did not expect this, you need not do anything.',
      ]),
  }
}
