import { randomFillSync } from 'node:crypto'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

const pool = new Uint8Array(16 * 256)
let used = pool.length
let lastMs = 0
let sequence = 0

function take16(): Uint8Array {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += 16
  return pool.subarray(used - 16, used)
}

/**
 * A UUIDv7 (RFC 9562 §5.7): milliseconds, then a 12-bit counter so that ids of one process sort
 * in the order they were made, then random bits.
 */
export function newId(nowMs: number = Date.now()): string {
  if (nowMs > lastMs) {
    lastMs = nowMs
    sequence = 0
  } else if (++sequence > 0xfff) {
    lastMs += 1
    sequence = 0
  }
  const random = Buffer.from(take16()).toString('hex')
  const time = lastMs.toString(16).padStart(12, '0')
  const counter = sequence.toString(16).padStart(3, '0')
  const variant = (0x8 | (Number.parseInt(random.charAt(0), 16) & 0x3)).toString(16)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${variant}${random.slice(1, 4)}-${random.slice(4, 16)}`
}

/** True for any RFC 9562 textual UUID. */
export const isUuid = (value: string): boolean => UUID.test(value)
