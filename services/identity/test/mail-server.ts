import { once } from 'node:events'
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '@atrium/testing'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

/** A real mail server that keeps what it takes. */
export async function startSmtp(options: SMTPServerOptions = {}) {
  const mails: { text: string; to: string[] }[] = []
  const server = new SMTPServer({
    authOptional: true,
    key: TEST_CERTIFICATE_KEY,
    cert: TEST_CERTIFICATE,
    onData(stream, session, done) {
      let text = ''
      stream.on('data', (chunk: Buffer) => {
        text += chunk.toString('utf8')
      })
      stream.on('end', () => {
        mails.push({ text, to: session.envelope.rcptTo.map(({ address }) => address) })
        done()
      })
    },
    ...options,
  })
  server.on('error', () => {})
  const listening = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  const { port } = listening.address() as { port: number }
  return {
    port,
    mails,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}
