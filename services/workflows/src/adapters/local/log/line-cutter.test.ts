import { describe, expect, it } from 'vitest'
import { LineCutter } from './line-cutter.ts'
import { createMask } from './mask.ts'

/** What is shown of output that comes in these pieces. */
function shown(secrets: readonly string[], ...pieces: readonly string[]): string {
  const cutter = new LineCutter(createMask(secrets))
  return pieces.map((piece) => cutter.write(Buffer.from(piece))).join('') + cutter.end()
}

const PLAIN = 'hunter2-ABCDEFGH-secret'
const [begin, end] = [PLAIN.slice(0, 8), PLAIN.slice(8)]

describe('secrets in lines', () => {
  it.each([
    ['a colour', ['a ', begin, '\x1b[0m', end, ' z\n']],
    ['a colour of its own pieces', [begin, '\x1b[', '1;3', '1m', end, '\n']],
    ['a movement', [`${begin}\x1b[2K\x1b[1G${end}\n`]],
    ['a long line', ['x'.repeat(20_000), begin, '\x1b[38;2;10;20;30m', end, 'y'.repeat(20_000)]],
    ['the cut of a long line', ['x'.repeat(8192 - 4), begin, '\x1b[', '0m', end, 'y'.repeat(20_000)]],
  ])('are masked with %s in them', (_what, pieces) => {
    const text = shown([PLAIN], ...pieces).replaceAll('\n', '')
    expect(text).toContain('***')
    expect(text).not.toContain('hunter2')
    expect(text).not.toContain('secret')
  })

  // As Python 3.12 shows them: json.dumps, with ensure_ascii=False, repr, quote, quote with safe='', quote_plus.
  it.each([
    String.raw`q\"uo\\te'&<sp ace>+/=%\u00e9`,
    String.raw`q\"uo\\te'&<sp ace>+/=%é`,
    String.raw`q"uo\\te\'&<sp ace>+/=%é`,
    'q%22uo%5Cte%27%26%3Csp%20ace%3E%2B/%3D%25%C3%A9',
    'q%22uo%5Cte%27%26%3Csp%20ace%3E%2B%2F%3D%25%C3%A9',
    'q%22uo%5Cte%27%26%3Csp+ace%3E%2B%2F%3D%25%C3%A9',
    'q%22uo%5cte%27%26%3csp%20ace%3e%2b%2f%3d%25%c3%a9',
    `q%22uo%5Cte'%26%3Csp%20ace%3E%2B%2F%3D%25%C3%A9`,
  ])('are masked as %s', (form) => {
    expect(shown([`q"uo\\te'&<sp ace>+/=%é`], `error at https://x/?t=${form}&b\n`)).toBe(
      'error at https://x/?t=***&b\n',
    )
  })

  it('are masked line by line, and with their line feeds spelt out', () => {
    const key = '-----BEGIN KEY-----\nfirst/line+of=\nsecond line\n-----END KEY-----\n'
    expect(shown([key], `${key}`)).not.toMatch(/first|second/)
    expect(shown([key], `{"key": ${JSON.stringify(key)}}\n`)).toBe('{"key": "***"}\n')
    expect(shown([key], `first%2Fline%2Bof%3D\n`)).toBe('***\n')
  })

  it('take no colours from what is no secret, but their codes', () => {
    expect(shown([PLAIN], '\x1b[31mred\x1b[0m \x1b]0;title\x07\x08\n')).toBe('red \\x1b]0;title\\x07\\x08\n')
  })
})
