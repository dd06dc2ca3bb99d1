/** What browsers show and never run. Anything else comes as bytes, whatever its name says. */
const HARMLESS: ReadonlySet<string> = new Set([
  'application/json',
  'image/gif',
  'image/jpeg',
  'image/png',
  'image/webp',
  'text/csv',
  'text/plain',
])

/** The media type that a download is given. */
export const shownTypeOf = (mediaType: string): string =>
  HARMLESS.has(mediaType) ? mediaType : 'application/octet-stream'

const TEXT = /^text\/|^application\/json$/

/** The same with a character set, where it is text. */
export const contentTypeOf = (mediaType: string): string => {
  const shown = shownTypeOf(mediaType)
  return TEXT.test(shown) ? `${shown}; charset=utf-8` : shown
}

/** `Content-Disposition` of a file to be saved, for names of any characters (RFC 6266, RFC 8187). */
export function dispositionOf(path: string): string {
  const name = path.split('/').at(-1) ?? 'artifact'
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const coded = encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${coded}`
}
