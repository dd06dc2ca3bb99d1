import { type AddressInfo, createServer, type Socket } from 'node:net'

export interface ReceivedMail {
  readonly to: string
  /** Headers and body. */
  readonly text: string
}

/** A mail server as far as one client that sends one mail after the other can tell. */
export async function startMailServer() {
  const mails: ReceivedMail[] = []
  const sockets = new Set<Socket>()
  let refusing = false
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    converse(
      socket,
      (mail) => mails.push(mail),
      () => refusing,
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    env: { SMTP_URL: `smtp://127.0.0.1:${port}?tls=never`, ATRIUM_MAIL_FROM: 'Atrium <atrium@example.test>' },
    mails,
    refuse: (isRefusing: boolean) => {
      refusing = isRefusing
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Undoes quoted-printable, in which mails come. */
const decoded = (lines: readonly string[]): string =>
  lines
    .join('\n')
    .replaceAll('=\n', '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

function converse(socket: Socket, receive: (mail: ReceivedMail) => void, isRefusing: () => boolean): void {
  const say = (line: string): unknown => socket.write(`${line}\r\n`)
  let to = ''
  let data: string[] | undefined
  let pending = ''
  const hear = (line: string): void => {
    if (data !== undefined) {
      if (line !== '.') {
        data.push(line.replace(/^\./, ''))
        return
      }
      receive({ to, text: decoded(data) })
      data = undefined
      say('250 taken')
      return
    }
    const command = line.slice(0, 4).toUpperCase()
    if (command === 'RCPT') to = /<(.*)>/.exec(line)?.[1] ?? ''
    if (command === 'RCPT' && isRefusing()) say('550 no such mailbox')
    else if (command === 'DATA') {
      data = []
      say('354 go on')
    } else if (command === 'QUIT') socket.end('221 bye\r\n')
    else say('250 fine')
  }
  say('220 mail.example.test ESMTP')
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (pending + chunk).split('\r\n')
    pending = lines.pop() ?? ''
    for (const line of lines) hear(line)
  })
}
