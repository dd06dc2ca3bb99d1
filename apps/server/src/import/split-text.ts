/** Text looked at beyond a cut, to see the grapheme that it would fall into. */
const GRAPHEME_REACH = 64

const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' })

/** Best first. Each match ends where a chunk may end. */
const BORDERS = [/\n[^\S\n]*\n\s*/g, /[.!?…]["'”’)\]]*\s+|[。！？]["”’」』]*\s*|\n/g, /\s+/g]

/** Each chunk fills at least this part of its size before a better border counts more than length. */
const LEAST_FILL = 0.5

/**
 * Cuts text into pieces of at most `size` characters (UTF-16 units), each beginning with up to `overlap` characters
 * of the one before. Cuts fall between paragraphs, else sentences, else words, and never within a grapheme.
 * @param overlap below `size`
 */
export function* splitText(text: string, size: number, overlap: number): Generator<string> {
  for (const [start, end] of spansOf(text, size, overlap)) {
    const chunk = text.slice(start, end).trim()
    if (chunk !== '') yield chunk
  }
}

/** The places of the pieces, blank ones and blank ends included. */
export function* spansOf(
  text: string,
  size: number,
  overlap: number,
): Generator<[start: number, end: number]> {
  let start = 0
  while (start < text.length) {
    const end = text.length - start <= size ? text.length : cutBefore(text, start, size, overlap)
    yield [start, end]
    if (end === text.length) return
    start = beginAfter(text, start, Math.max(end - overlap, start + 1), end)
  }
}

/** Where the chunk that begins at `start` ends: beyond its overlap wherever that can be, so that the next one moves on. */
function cutBefore(text: string, start: number, size: number, overlap: number): number {
  const least = start + Math.max(Math.floor(size * LEAST_FILL), overlap + 1)
  const most = start + size
  // One character more, to see that a border ends just there.
  const window = text.slice(least, most + 1)
  for (const border of BORDERS) {
    let found = -1
    for (const match of window.matchAll(border)) {
      const at = least + match.index + match[0].length
      if (at <= most) found = at
      else if (least + match.index + match[0].trimEnd().length <= most) found = most
    }
    if (found !== -1) {
      const cut = graphemeAt(text, start, found)
      if (cut > least) return cut
    }
  }
  const cut = graphemeAt(text, start, most)
  // A single grapheme longer than a chunk is no text that anybody reads.
  return cut > start ? cut : codePointAt(text, most)
}

/** The first beginning of a sentence or word from `from` on, before `end`; `end` itself when there is none. */
function beginAfter(text: string, start: number, from: number, end: number): number {
  const before = from - 1
  const window = text.slice(before, end)
  for (const border of BORDERS.slice(1)) {
    for (const match of window.matchAll(border)) {
      const at = before + match.index + match[0].length
      if (at >= from && at < end) return graphemeAt(text, start, at) === at ? at : end
    }
  }
  // Text without spaces: in the middle of it, but not of a character.
  const at = graphemeAt(text, start, from)
  if (at === from) return at
  const [grapheme] = segmenter.segment(text.slice(at, from + GRAPHEME_REACH))
  return Math.min(end, Math.max(from, at + (grapheme?.segment.length ?? 1)))
}

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff

/** `at`, or the place before it where its code point begins. */
const codePointAt = (text: string, at: number): number =>
  at > 0 && at < text.length && isLowSurrogate(text.charCodeAt(at)) ? at - 1 : at

/** `at`, or the place before it where its grapheme begins. `start` begins one: flags can be told only from there. */
function graphemeAt(text: string, start: number, at: number): number {
  const [before, after] = [text.charCodeAt(at - 1), text.charCodeAt(at)]
  if (before < 0x80 && after < 0x80 && !(before === 0x0d && after === 0x0a)) return at
  const segment = segmenter.segment(text.slice(start, at + GRAPHEME_REACH)).containing(at - start)
  return segment === undefined ? at : start + segment.index
}
