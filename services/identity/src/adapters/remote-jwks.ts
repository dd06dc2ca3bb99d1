import type { Logger } from '@atrium/kernel/log'
import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose'
import { Agent, request } from 'undici'
import { issuerUnavailable } from '../errors.ts'

export interface RemoteJwks {
  readonly getKey: JWTVerifyGetKey
  close(): Promise<void>
}

export interface RemoteJwksOptions {
  readonly discoveryUrl: string
  /** Makes discovery needless. */
  readonly jwksUrl: string | undefined
  readonly log: Logger
  readonly times?: Partial<typeof TIMES>
}

/** Milliseconds. */
const TIMES = {
  /** For discovery and the keys together. */
  timeout: 5000,
  /** A set this old is fetched again, in the background. */
  fresh: 600_000,
  /** An issuer that is down keeps being trusted by the keys known last, so long. */
  stale: 3_600_000,
  /** Between two fetches that an unknown key id or a failure caused. */
  cooldown: 5000,
}
const MAX_BYTES = 262_144

interface Fetching {
  readonly dispatcher: Agent
  readonly signal: AbortSignal
}

/** Follows no redirect, and reads no more than the limit. */
async function fetchBytes(url: string, fetching: Fetching): Promise<Buffer> {
  const { statusCode, body } = await request(url, { ...fetching, headers: { accept: 'application/json' } })
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BYTES) throw new Error(`${url} answered more than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}`)
  return Buffer.concat(chunks)
}

async function discoverJwksUrl(discoveryUrl: string, fetching: Fetching): Promise<string> {
  const document: unknown = JSON.parse((await fetchBytes(discoveryUrl, fetching)).toString('utf8'))
  const url =
    typeof document === 'object' && document !== null && 'jwks_uri' in document
      ? document.jwks_uri
      : undefined
  if (typeof url !== 'string' || !/^https?:\/\//.test(url))
    throw new Error(`${discoveryUrl} names no jwks_uri`)
  if (discoveryUrl.startsWith('https:') && !url.startsWith('https:'))
    throw new Error(`${discoveryUrl} names a jwks_uri without TLS: ${url}`)
  return url
}

/**
 * An external issuer's keys. jose fetches, checks and keeps them; what it lacks is added here: discovery, a limit of
 * size, pauses after failures too, and keys that go on for a while when the issuer is down.
 */
export function createRemoteJwks({ discoveryUrl, jwksUrl, log, ...options }: RemoteJwksOptions): RemoteJwks {
  const times = { ...TIMES, ...options.times }
  const dispatcher = new Agent({ connections: 4 })
  const keys = createRemoteJWKSet(new URL(jwksUrl ?? discoveryUrl), {
    timeoutDuration: times.timeout,
    cacheMaxAge: times.stale,
    // `refresh` alone decides when to fetch.
    cooldownDuration: Number.POSITIVE_INFINITY,
    async [customFetch](url, { signal }) {
      const fetching = { dispatcher, signal }
      const found = jwksUrl === undefined ? await discoverJwksUrl(discoveryUrl, fetching) : url
      return new Response(new Uint8Array(await fetchBytes(found, fetching)))
    },
  })
  let triedAt = Number.NEGATIVE_INFINITY
  let fetchedAt = Number.NEGATIVE_INFINITY
  let lastFailure: unknown

  /** Unless the last fetch is too recent. What is known stays known where this one fails; never rejects. */
  async function refresh(): Promise<void> {
    const isFirst = !keys.reloading
    if (isFirst && performance.now() - triedAt < times.cooldown) return
    if (isFirst) triedAt = performance.now()
    try {
      await keys.reload()
      fetchedAt = performance.now()
    } catch (error) {
      lastFailure = error
      if (isFirst) log.warn({ err: error }, 'fetching the keys of a token issuer failed')
    }
  }

  /** A key that cannot be used, for its numbers are missing or wrong, is no key. */
  const pick: JWTVerifyGetKey = (header, token) => {
    if (!keys.fresh) throw issuerUnavailable(lastFailure)
    return keys(header, token).catch((cause: unknown) => {
      throw cause instanceof errors.JOSEError ? cause : new errors.JWKSNoMatchingKey(undefined, { cause })
    })
  }

  return {
    async getKey(header, token) {
      // Callers wait only where there is nothing to go on with.
      if (!keys.fresh) await refresh()
      else if (performance.now() - fetchedAt >= times.fresh) void refresh()
      try {
        return await pick(header, token)
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
        // A key that we have not seen: the issuer may have rotated.
        await refresh()
        return pick(header, token)
      }
    },
    close: () => dispatcher.close(),
  }
}
