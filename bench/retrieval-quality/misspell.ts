/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** One random edit in half of the words of five letters or more: insert, delete, substitute or transpose. */
export function misspell(text: string, random: () => number): string {
  return text.replace(/[A-Za-z]{5,}/g, (word) => (random() < 0.5 ? edit(word, random) : word))
}

function edit(word: string, random: () => number): string {
  const at = Math.floor(random() * word.length)
  const letter = String.fromCharCode(97 + Math.floor(random() * 26))
  const first = Math.min(at, word.length - 2)
  const edits = [
    word.slice(0, at) + letter + word.slice(at),
    word.slice(0, at) + word.slice(at + 1),
    word.slice(0, at) + letter + word.slice(at + 1),
    word.slice(0, first) + word[first + 1] + word[first] + word.slice(first + 2),
  ]
  return edits[Math.floor(random() * edits.length)] ?? word
}
