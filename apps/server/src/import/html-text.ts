import { Parser } from 'htmlparser2'

/** Elements whose content nobody reads. */
const UNREAD = new Set(
  'script style noscript template svg math iframe object canvas select datalist'.split(' '),
)
/** Elements that begin a line of their own; `p` and its like a paragraph. */
const LINES = new Set(
  'br div li tr dt dd option hr nav header footer main section article aside form'.split(' '),
)
const PARAGRAPHS = new Set('p h1 h2 h3 h4 h5 h6 ul ol dl table pre blockquote figure'.split(' '))

export interface HtmlText {
  readonly title: string | undefined
  readonly text: string
}

/** The text of a page as people read it: without scripts and styles, blocks on lines of their own. */
export function textOfHtml(html: string): HtmlText {
  const parts: string[] = []
  const title: string[] = []
  let unread = 0
  let isTitle = false
  const isAtLineStart = (): boolean => parts.at(-1)?.endsWith('\n') ?? true
  const breakBy = (name: string): void => {
    if (PARAGRAPHS.has(name)) parts.push('\n\n')
    else if (LINES.has(name) && !isAtLineStart()) parts.push('\n')
    else if (name === 'td' || name === 'th') parts.push(' ')
  }
  const parser = new Parser({
    onopentag(name) {
      if (UNREAD.has(name)) unread += 1
      // A picture in the page may have a title too.
      if (name === 'title' && unread === 0) isTitle = true
      breakBy(name)
    },
    onclosetag(name) {
      if (UNREAD.has(name)) unread -= 1
      if (name === 'title') isTitle = false
      breakBy(name)
    },
    ontext(text) {
      if (unread > 0) return
      if (isTitle) title.push(text)
      else if (!isAtLineStart() || /\S/.test(text)) parts.push(text.replace(/\s+/g, ' '))
    },
  })
  parser.end(html)
  const text = parts
    .join('')
    .split('\n')
    .map((line) => line.replace(/ {2,}/g, ' ').trim())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
  const heading = title.join('').replace(/\s+/g, ' ').trim()
  return { title: heading === '' ? undefined : heading, text }
}
