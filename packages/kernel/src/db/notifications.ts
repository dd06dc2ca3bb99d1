import { EventEmitter } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { every } from '../lifecycle.ts'
import type { Logger } from '../log.ts'

const CONNECT_MS = 5000
const LONGEST_PAUSE_MS = 2000
/** A connection that only listens would not notice that the other end is gone. */
const BEAT_EVERY_MS = 10_000

/**
 * LISTEN on one dedicated connection, reconnecting for ever. Notifications speed things up; nothing may
 * rely on them alone, for those sent while the connection was down are lost: `onGap` says when that was.
 */
export interface Notifications {
  /** Calls `handle` with the payload of each `NOTIFY channel`. */
  subscribe(channel: string, handle: (payload: string) => void): Promise<void>
  /** Calls `handle` after a reconnection: whatever was cached may be stale. */
  onGap(handle: () => void): void
  close(): Promise<void>
}

export function createNotifications(options: { url: string; log: Logger }): Notifications {
  const events = new EventEmitter()
  events.setMaxListeners(0)
  const channels = new Set<string>()
  const stop = new AbortController()
  let client: pg.Client | undefined
  let connecting: Promise<void> | undefined

  async function connect(): Promise<void> {
    const next = new pg.Client({
      connectionString: options.url,
      application_name: 'atrium-listen',
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: CONNECT_MS,
    })
    next.on('notification', (message) => events.emit(`to:${message.channel}`, message.payload ?? ''))
    next.on('error', () => {}) // 'end' follows and reconnects.
    try {
      await next.connect()
      for (const channel of channels) await next.query(`LISTEN ${pg.escapeIdentifier(channel)}`)
    } catch (error) {
      next.connection.stream.destroy()
      throw error
    }
    client = next
    next.once('end', () => {
      client = undefined
      if (!stop.signal.aborted) void reconnect()
    })
  }

  async function reconnect(): Promise<void> {
    options.log.warn('the connection for database notifications was lost; connecting again')
    for (let waitMs = 50; !stop.signal.aborted; waitMs = Math.min(waitMs * 2, LONGEST_PAUSE_MS)) {
      try {
        await connect()
        events.emit('gap')
        options.log.info('database notifications arrive again')
        return
      } catch (error) {
        options.log.debug({ err: error }, 'listening for database notifications failed; trying again')
        await delay(waitMs, undefined, { signal: stop.signal }).catch(() => {})
      }
    }
  }

  const beat = async (): Promise<void> => void (await client?.query('SELECT 1'))
  const stopBeating = every(BEAT_EVERY_MS, beat, () => void client?.connection.stream.destroy())

  return {
    async subscribe(channel, handle) {
      events.on(`to:${channel}`, handle)
      const known = channels.has(channel)
      channels.add(channel)
      connecting ??= connect()
      await connecting
      if (!known) await client?.query(`LISTEN ${pg.escapeIdentifier(channel)}`)
    },
    onGap: (handle) => void events.on('gap', handle),
    async close() {
      stop.abort()
      await connecting?.catch(() => {})
      const open = client
      // Of a server that hangs no farewell comes.
      setTimeout(() => open?.connection.stream.destroy(), 1000).unref()
      await Promise.all([stopBeating(), open?.end()])
    },
  }
}
