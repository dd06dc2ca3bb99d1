import type { Logger } from '@atrium/kernel/log'
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
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
  timeout: 5000,
  /** A set this old is fetched again, in the background. */
  fresh: 600_000,
  /** An issuer that is down keeps being trusted by the keys known last, so long. */
  stale: 3_600_000,
  /** Between two fetches that an unknown key id or a failure caused. */
  cooldown: 5000,
}
const MAX_BYTES = 262_144

const isKeySet = (value: object): value is JSONWebKeySet =>
  'keys' in value &&
  Array.isArray(value.keys) &&
  value.keys.every((key: unknown) => typeof key === 'object' && key !== null && 'kty' in key)

/** An external issuer's keys: fetched with a limit on time and size, kept, and fetched again with pauses. */
export function createRemoteJwks(options: RemoteJwksOptions): RemoteJwks {
  const times = { ...TIMES, ...options.times }
  const agent = new Agent({ connections: 4 })
  let known: { keys: ReturnType<typeof createLocalJWKSet>; at: number } | undefined
  let triedAt = Number.NEGATIVE_INFINITY
  let lastFailure: unknown
  let fetching: Promise<void> | undefined

  async function fetchJson(url: string): Promise<object> {
    const signal = AbortSignal.timeout(times.timeout)
    const { statusCode, body } = await request(url, {
      dispatcher: agent,
      signal,
      headers: { accept: 'application/json' },
    })
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > MAX_BYTES) throw new Error(`${url} answered more than ${MAX_BYTES} bytes`)
      chunks.push(chunk)
    }
    if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}`)
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
    if (typeof value !== 'object' || value === null) throw new Error(`${url} answered no JSON object`)
    return value
  }

  async function findJwksUrl(): Promise<string> {
    if (options.jwksUrl !== undefined) return options.jwksUrl
    const document = await fetchJson(options.discoveryUrl)
    const url = 'jwks_uri' in document ? document.jwks_uri : undefined
    if (typeof url !== 'string' || !/^https?:\/\//.test(url)) {
      throw new Error(`${options.discoveryUrl} names no jwks_uri`)
    }
    if (options.discoveryUrl.startsWith('https:') && !url.startsWith('https:')) {
      throw new Error(`${options.discoveryUrl} names a jwks_uri without TLS: ${url}`)
    }
    return url
  }

  /** One fetch at a time; never rejects. */
  function refetch(): Promise<void> {
    fetching ??= (async () => {
      triedAt = performance.now()
      try {
        const url = await findJwksUrl()
        const set = await fetchJson(url)
        if (!isKeySet(set)) throw new Error(`${url} answered no JSON Web Key Set`)
        known = { keys: createLocalJWKSet(set), at: performance.now() }
        lastFailure = undefined
      } catch (error) {
        lastFailure = error
        options.log.warn({ err: error }, 'fetching the keys of a token issuer failed')
      } finally {
        fetching = undefined
      }
    })()
    return fetching
  }

  const mayTry = (): boolean => performance.now() - triedAt >= times.cooldown

  async function keySet() {
    const ageOf = (): number =>
      known === undefined ? Number.POSITIVE_INFINITY : performance.now() - known.at
    if (ageOf() >= times.fresh && (fetching !== undefined || mayTry())) {
      const refetched = refetch()
      // Callers wait only where there is nothing to go on with.
      if (ageOf() >= times.stale) await refetched
    }
    if (known === undefined || ageOf() >= times.stale) throw issuerUnavailable(lastFailure)
    return known.keys
  }

  /** A key that cannot be used, for its numbers are missing or wrong, is no key. */
  const pick: JWTVerifyGetKey = async (header, token) => {
    const keys = await keySet()
    return keys(header, token).catch((cause: unknown) => {
      throw cause instanceof errors.JOSEError ? cause : new errors.JWKSNoMatchingKey(undefined, { cause })
    })
  }

  return {
    async getKey(header, token) {
      try {
        return await pick(header, token)
      } catch (error) {
        // A key that we have not seen: the issuer may have rotated.
        if (!(error instanceof errors.JWKSNoMatchingKey) || (fetching === undefined && !mayTry())) throw error
        await refetch()
        return pick(header, token)
      }
    },
    close: () => agent.close(),
  }
}
