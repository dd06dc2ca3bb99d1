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
