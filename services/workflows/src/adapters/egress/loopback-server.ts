import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'

/** At once through one task's way out. */
const CONNECTIONS = 16

/** Both ends silent for so long: the connection is dropped. */
export const IDLE_MS = 300_000
export const CONNECT_MS = 15_000

/** A server for one task, on a port of loopback. */
export interface LoopbackServer {
  readonly port: number
  close(): Promise<void>
}

/** @param server that does not listen yet */
export async function listenOnLoopback(server: Server): Promise<LoopbackServer> {
  const open = new Set<Socket>()
  server.maxConnections = CONNECTIONS
  server.on('connection', (socket) => {
    open.add(socket)
    socket.on('error', () => {})
    socket.setTimeout(IDLE_MS, () => socket.destroy())
    socket.once('close', () => open.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of open) socket.destroy()
      await closed
    },
  }
}

/** Passes on what either end says, until one of them is gone. */
export function join(one: Socket, other: Socket): void {
  one.pipe(other).pipe(one)
  one.once('close', () => other.destroy())
  other.once('close', () => one.destroy())
}
