import { BoundedMap } from './bounded-map.ts'

/** Shorter than the second that revocation may take; announcements make it shorter still. */
const FRESH_MS = 800

/** Answers that are at most `FRESH_MS` old: what changes holds within a second, everywhere. */
export interface FreshCache<V> {
  find(key: string): Promise<V>
  /** The answer of `find` where it is at hand. */
  peek(key: string): V | undefined
  forget(key: string): void
  forgetAll(): void
}

/** @param read asked once for all who wait at the same moment; failures are not kept */
export function createFreshCache<V extends object>(
  read: (key: string) => Promise<V>,
  capacity: number,
): FreshCache<V> {
  const entries = new BoundedMap<string, { readonly value: V; readonly readAt: number }>(capacity)
  const loading = new Map<string, Promise<V>>()

  function load(key: string): Promise<V> {
    const readAt = performance.now()
    const promise: Promise<V> = read(key).then(
      (value) => {
        // Forgotten meanwhile: what was read may be older than the change.
        if (loading.get(key) === promise) {
          loading.delete(key)
          entries.set(key, { value, readAt })
        }
        return value
      },
      (error: unknown) => {
        if (loading.get(key) === promise) loading.delete(key)
        throw error
      },
    )
    loading.set(key, promise)
    return promise
  }

  const peek = (key: string): V | undefined => {
    const entry = entries.get(key)
    return entry !== undefined && performance.now() - entry.readAt < FRESH_MS ? entry.value : undefined
  }

  return {
    peek,
    async find(key) {
      return peek(key) ?? loading.get(key) ?? load(key)
    },
    forget(key) {
      entries.delete(key)
      loading.delete(key)
    },
    forgetAll() {
      entries.clear()
      loading.clear()
    },
  }
}
