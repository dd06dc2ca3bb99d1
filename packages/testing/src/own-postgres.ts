import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@atrium/kernel/db'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

/** A PostgreSQL that a test may break. */
export interface OwnPostgres {
  /** Leads through the proxy, so that it outlives a restart. */
  readonly url: string
  /** Past the proxy, as the server's other clients come. Another one after a restart. */
  directUrl(): string
  readonly proxy: TcpProxy
  /** Shuts the server down; its port is closed then. */
  stop(): Promise<void>
  start(): Promise<void>
  /** SIGSTOP to every process of the server: connections stay open, and nothing answers. */
  freeze(): Promise<void>
  thaw(): Promise<void>
  close(): Promise<void>
}

const withPort = (url: string, port: number): string => {
  const changed = new URL(url)
  changed.port = String(port)
  return changed.href
}

const childrenOf = (pid: number): number[] =>
  execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map(Number)

export async function startOwnPostgres(): Promise<OwnPostgres> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-postgres-'))
  const start = (): Promise<EmbeddedPostgres> => startEmbeddedPostgres({ dataDir, durable: false })
  const portOf = (postgres: EmbeddedPostgres): number => Number(new URL(postgres.url).port)
  let server: EmbeddedPostgres | undefined = await start()
  let { url } = server
  const proxy = await startTcpProxy(portOf(server))
  let frozen: number[] = []

  const thaw = async (): Promise<void> => {
    for (const pid of frozen) process.kill(pid, 'SIGCONT')
    frozen = []
  }
  const stop = async (): Promise<void> => {
    await thaw()
    await server?.stop()
    server = undefined
  }
  return {
    url: withPort(url, proxy.port),
    directUrl: () => url,
    proxy,
    stop,
    async start() {
      server = await start()
      url = server.url
      proxy.aim(portOf(server))
    },
    async freeze() {
      const lock = await readFile(path.join(dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8')
      const postmaster = Number(lock.split('\n')[0])
      process.kill(postmaster, 'SIGSTOP')
      frozen = [postmaster, ...childrenOf(postmaster)]
      for (const pid of frozen) process.kill(pid, 'SIGSTOP')
    },
    thaw,
    async close() {
      await stop()
      await proxy.close()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
