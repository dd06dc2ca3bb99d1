import { EventEmitter } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Logger } from '../log.ts'

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
    })
    next.on('notification', (message) => events.emit(`to:${message.channel}`, message.payload ?? ''))
    next.on('error', () => {}) // 'end' follows and reconnects.
    await next.connect()
    for (const channel of channels) await next.query(`LISTEN ${pg.escapeIdentifier(channel)}`)
    client = next
    next.once('end', () => {
      client = undefined
      if (!stop.signal.aborted) void reconnect()
    })
  }

  async function reconnect(): Promise<void> {
    for (let waitMs = 50; !stop.signal.aborted; waitMs = Math.min(waitMs * 2, 2000)) {
      try {
        await connect()
        events.emit('gap')
        return
      } catch (error) {
        options.log.warn({ err: error }, 'listening for database notifications failed; trying again')
        await delay(waitMs, undefined, { signal: stop.signal }).catch(() => {})
      }
    }
  }

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
      await client?.end()
    },
  }
}
