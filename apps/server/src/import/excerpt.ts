const EXCERPT_CHARS = 240
/** Words before the first match, so that it stands in some context. */
const LEAD_CHARS = 40
const WORD = /[\p{L}\p{N}]+/gu

const fold = (word: string): string => word.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()

/** Words that are alike but for a short ending. */
function isAlike(word: string, wanted: string): boolean {
  if (word === wanted) return true
  const shared = Math.min(word.length, wanted.length)
  return (
    shared >= 4 &&
    Math.abs(word.length - wanted.length) <= 3 &&
    word.slice(0, shared - 1) === wanted.slice(0, shared - 1)
  )
}

const wordsOf = (query: string): string[] =>
  [...query.matchAll(WORD)].map(([word]) => fold(word)).filter((word) => word.length > 2)

function matchesIn(text: string, query: string): { at: number; word: string }[] {
  const wanted = wordsOf(query)
  return [...text.matchAll(WORD)]
    .filter(([word]) => wanted.some((one) => isAlike(fold(word), one)))
    .map((match) => ({ at: match.index, word: match[0] }))
}

/** The part of the text that holds most of the query's words, on one line. */
export function excerptOf(text: string, query: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  if (line.length <= EXCERPT_CHARS) return line
  const matches = matchesIn(line, query)
  let best = { at: 0, count: 0 }
  for (const { at } of matches) {
    const count = matches.filter((one) => one.at >= at && one.at < at + EXCERPT_CHARS - LEAD_CHARS).length
    if (count > best.count) best = { at, count }
  }
  const from = best.at <= LEAD_CHARS ? 0 : line.indexOf(' ', best.at - LEAD_CHARS) + 1
  const to = from + EXCERPT_CHARS
  const end = to >= line.length ? line.length : Math.max(from + 1, line.lastIndexOf(' ', to))
  const part = line.slice(from, Math.min(end, to)).toWellFormed()
  return `${from > 0 ? '…' : ''}${part}${end < line.length ? '…' : ''}`
}

/** The text with the query's words marked. */
export function emphasize(text: string, query: string, mark: (word: string) => string): string {
  let done = 0
  let marked = ''
  for (const { at, word } of matchesIn(text, query)) {
    marked += text.slice(done, at) + mark(word)
    done = at + word.length
  }
  return marked + text.slice(done)
}
