import { hash } from 'node:crypto'
import { STYLE } from './style.ts'
import { WORD_MARK } from './word-mark.ts'

/** A whole HTML document and the Content-Security-Policy that it is sent with. */
export interface Page {
  readonly html: string
  readonly policy: string
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text for HTML, in elements and in quoted attributes. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign)

const STYLE_HASH = hash('sha256', STYLE, 'base64')

/** What a form may lead to: browsers apply the policy to the redirects behind it as well. */
function formTarget(address: string | undefined): string {
  const url = address === undefined ? null : URL.parse(address)
  if (url === null) return ''
  return url.protocol === 'https:' || url.protocol === 'http:' ? ` ${url.origin}` : ` ${url.protocol}`
}

/**
 * @param options.body HTML that is escaped already
 * @param options.leadsTo where the page's form ends after redirects, when that is another origin
 */
export function renderPage(options: { title: string; body: string; leadsTo?: string | undefined }): Page {
  return {
    policy: [
      "default-src 'none'",
      `style-src 'sha256-${STYLE_HASH}'`,
      'img-src data:',
      `form-action 'self'${formTarget(options.leadsTo)}`,
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ].join('; '),
    html: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${escapeHtml(options.title)} · Atrium</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<header>${WORD_MARK}</header>
<main>
${options.body}
</main>
</body>
</html>
`,
  }
}

export interface Fault {
  /** Id of the field that it is about; undefined when it concerns all. */
  readonly field?: string
  readonly message: string
}

/** What went wrong, read out at once and first in the order of the keyboard. */
export function faultSummary(faults: readonly Fault[]): string {
  if (faults.length === 0) return ''
  const items = faults.map(({ field, message }) =>
    field === undefined
      ? `<p>${escapeHtml(message)}</p>`
      : `<p><a href="#${field}">${escapeHtml(message)}</a></p>`,
  )
  return `<div class="faults" role="alert" tabindex="-1" autofocus>${items.join('')}</div>`
}

export interface FieldOptions {
  readonly id: string
  readonly label: string
  readonly type: 'text' | 'password'
  readonly autocomplete: string
  readonly value?: string
  readonly hint?: string
  readonly isFaulty?: boolean
  readonly hasFocus?: boolean
}

/** A labelled input. */
export function fieldOf(field: FieldOptions): string {
  const attributes = [
    `id="${field.id}" name="${field.id}" type="${field.type}" autocomplete="${field.autocomplete}"`,
    'required maxlength="256" autocapitalize="none" autocorrect="off" spellcheck="false"',
    field.value === undefined ? '' : `value="${escapeHtml(field.value)}"`,
    field.hint === undefined ? '' : `aria-describedby="${field.id}-hint"`,
    field.isFaulty === true ? 'aria-invalid="true"' : '',
    field.hasFocus === true ? 'autofocus' : '',
  ]
  const hint =
    field.hint === undefined ? '' : `<p class="hint" id="${field.id}-hint">${escapeHtml(field.hint)}</p>`
  return `<div class="field"><label for="${field.id}">${escapeHtml(field.label)}</label>${hint}<input ${attributes
    .filter((attribute) => attribute !== '')
    .join(' ')}></div>`
}
