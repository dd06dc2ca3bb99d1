import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** A TCP proxy that breaks connections in the ways in which networks and servers do. */
export interface TcpProxy {
  readonly port: number
  /** Where connections go from now on. */
  aim(port: number): void
  /** Takes connections and bytes, and passes nothing on, in either direction. */
  hold(): void
  /** The same for the connections that are open; new ones work. */
  holdOpen(): void
  /** Passes on again, first what was held back. */
  release(): void
  /** Breaks every connection and resets each new one, until `release`. */
  reset(): void
  /** Breaks the connections that are open; new ones work. */
  resetOpen(): void
  close(): Promise<void>
}

type Mode = 'pass' | 'hold' | 'reset'

/** @param targetPort on loopback */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  let target = targetPort
  let mode: Mode = 'pass'
  const pairs = new Set<readonly [Socket, Socket]>()

  const server: Server = createServer((client) => {
    client.on('error', () => {})
    if (mode === 'reset') {
      client.resetAndDestroy()
      return
    }
    const upstream = connect(target, '127.0.0.1')
    const pair = [client, upstream] as const
    pairs.add(pair)
    upstream.on('error', () => client.resetAndDestroy())
    client.on('close', () => {
      pairs.delete(pair)
      upstream.destroy()
    })
    upstream.on('close', () => client.end())
    client.on('data', (chunk) => void upstream.write(chunk))
    upstream.on('data', (chunk) => void client.write(chunk))
    client.on('end', () => upstream.end())
    if (mode === 'hold') pauseBoth(pair)
  })
  const pauseBoth = (pair: readonly Socket[]): void => {
    for (const socket of pair) socket.pause()
  }
  const resetAll = (): void => {
    for (const [client] of pairs) client.resetAndDestroy()
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')

  return {
    port: address.port,
    aim(port) {
      target = port
    },
    hold() {
      mode = 'hold'
      for (const pair of pairs) pauseBoth(pair)
    },
    holdOpen() {
      for (const pair of pairs) pauseBoth(pair)
    },
    release() {
      mode = 'pass'
      for (const pair of pairs) for (const socket of pair) socket.resume()
    },
    reset() {
      mode = 'reset'
      resetAll()
    },
    resetOpen: resetAll,
    async close() {
      resetAll()
      server.close()
      await once(server, 'close')
    },
  }
}
