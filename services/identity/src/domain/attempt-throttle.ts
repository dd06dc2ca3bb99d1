import { LRUCache } from 'lru-cache'

/** Counts failed attempts per key and says how long the next one has to wait. */
export interface AttemptThrottle {
  /** Seconds until another attempt is looked at; 0 when it may come now. */
  waitSeconds(key: string): number
  failed(key: string): void
  /** Takes one failure back: an attempt that was counted before its outcome was known. */
  forgive(key: string): void
}

/**
 * A leaky bucket per key: `burst` failures at once, then one each `everySeconds`. Holds `capacity` keys
 * at most; the one that failed longest ago is forgotten first.
 */
export function createAttemptThrottle(options: {
  burst: number
  everySeconds: number
  capacity: number
  now?: () => number
}): AttemptThrottle {
  const now = options.now ?? (() => performance.now() / 1000)
  const buckets = new LRUCache<string, { failures: number; at: number }>({ max: options.capacity })
  const levelOf = (key: string): number => {
    const bucket = buckets.get(key)
    if (bucket === undefined) return 0
    return Math.max(0, bucket.failures - (now() - bucket.at) / options.everySeconds)
  }
  return {
    waitSeconds(key) {
      const excess = levelOf(key) - (options.burst - 1)
      return excess <= 0 ? 0 : excess * options.everySeconds
    },
    failed: (key) => void buckets.set(key, { failures: levelOf(key) + 1, at: now() }),
    forgive: (key) => void buckets.set(key, { failures: Math.max(0, levelOf(key) - 1), at: now() }),
  }
}
