/** Slots of 8 bytes: 2 MiB, whatever the number of stores and words. */
const SLOTS = 1 << 18

/**
 * Remembers which words were noted, in a fixed piece of memory: a word's 64-bit fingerprint lies in the slot that
 * its hash names, and a newcomer takes the place. Forgetting a word costs its being noted again; taking one for
 * known that is not needs two equal fingerprints.
 */
export class KnownWords {
  readonly #slots = new Uint32Array(SLOTS * 2)

  /** @param scope what the word belongs to, such as a store */
  has(scope: string, word: string): boolean {
    const { slot, high, low } = place(scope, word)
    return this.#slots[slot] === high && this.#slots[slot + 1] === low
  }

  add(scope: string, word: string): void {
    const { slot, high, low } = place(scope, word)
    this.#slots[slot] = high
    this.#slots[slot + 1] = low
  }
}

function place(scope: string, word: string): { slot: number; high: number; low: number } {
  const text = `${scope}/${word}`
  let high = 0x811c9dc5
  let low = 0x2545f491
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    high = Math.imul(high ^ unit, 0x01000193)
    low = Math.imul(low ^ unit, 0x5bd1e995)
    low ^= low >>> 15
  }
  high ^= high >>> 16
  high = Math.imul(high, 0x85ebca6b)
  high ^= high >>> 13
  // Never 0, which is an empty slot.
  return { slot: ((high ^ low) & (SLOTS - 1)) * 2, high: high >>> 0, low: (low | 1) >>> 0 }
}
