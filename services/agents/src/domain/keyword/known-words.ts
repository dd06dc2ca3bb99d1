/** Places for words of 8 bytes each: 2 MiB, whatever the number of stores and words. */
const PLACES = 1 << 18
/** Places that a word may be in. With one, the words of a store would drive each other out by the dozen. */
const WAYS = 4

/** The words of one scope. */
export interface KnownWordsOfScope {
  has(word: string): boolean
  /** Of a word that is not there. */
  add(word: string): void
}

/**
 * Remembers which words were noted, in a fixed piece of memory: a word's 64-bit fingerprint lies in one of the places
 * that its hash names, and a newcomer drives out the oldest. Forgetting a word costs its being noted again; taking
 * one for known that is not needs two equal fingerprints.
 */
export class KnownWords {
  readonly #places = new Uint32Array(PLACES * 2)

  /** @param scope what words belong to, such as a store */
  of(scope: string): KnownWordsOfScope {
    const places = this.#places
    const begun = hashed(`${scope}/`, { high: 0x811c9dc5, low: 0x2545f491 })
    return {
      has(word) {
        const { first, high, low } = placeOf(hashed(word, begun))
        for (let at = first; at < first + 2 * WAYS; at += 2) {
          if (places[at] === high && places[at + 1] === low) return true
        }
        return false
      },
      add(word) {
        const { first, high, low } = placeOf(hashed(word, begun))
        places.copyWithin(first + 2, first, first + 2 * WAYS - 2)
        places[first] = high
        places[first + 1] = low
      },
    }
  }
}

interface Hash {
  readonly high: number
  readonly low: number
}

/** Goes on with a hash over a text. */
function hashed(text: string, begun: Hash): Hash {
  let { high, low } = begun
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    high = Math.imul(high ^ unit, 0x01000193)
    low = Math.imul(low ^ unit, 0x5bd1e995)
    low ^= low >>> 15
  }
  return { high, low }
}

function placeOf({ high, low }: Hash): { first: number; high: number; low: number } {
  const mixed = Math.imul(high ^ (high >>> 16), 0x85ebca6b)
  const mixedHigh = mixed ^ (mixed >>> 13)
  const group = (mixedHigh ^ low) & (PLACES / WAYS - 1)
  // Never 0, which is an empty place.
  return { first: group * 2 * WAYS, high: mixedHigh >>> 0, low: (low | 1) >>> 0 }
}
