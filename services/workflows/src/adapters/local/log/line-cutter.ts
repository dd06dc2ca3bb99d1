import { StringDecoder } from 'node:string_decoder'
import type { Mask } from './mask.ts'
import { LONGEST_TERMINAL_CODE, printable, withoutTerminalCodes } from './printable.ts'

/** A longer line is cut into lines of this length, so that pieces of 64 KiB can hold whole ones. */
export const LONGEST_LINE = 8 * 1024

/** Makes masked, printable lines of the bytes of one stream. What it holds is bounded, however long a line is. */
export class LineCutter {
  readonly #decoder = new StringDecoder('utf8')
  readonly #mask: Mask
  #rest = ''

  constructor(mask: Mask) {
    this.#mask = mask
  }

  /** @returns whole lines with their ends */
  write(bytes: Buffer): string {
    return this.#take(this.#decoder.write(bytes))
  }

  /** @returns what is left, as a line */
  end(): string {
    const text = this.#take(this.#decoder.end())
    const rest = this.#rest
    this.#rest = ''
    return text + (rest === '' ? '' : this.#shown(`${rest}\n`))
  }

  /** Terminal codes go first: a colour may begin in the middle of a secret. */
  #masked(text: string): string {
    return this.#mask.apply(withoutTerminalCodes(text))
  }

  /** Masked, printable, and without long lines. */
  #shown(text: string): string {
    return withoutLongLines(printable(this.#masked(text)))
  }

  #take(text: string): string {
    // A carriage return at the end may be the first half of a line's end.
    const all = this.#rest + text
    const held = all.endsWith('\r') ? '\r' : ''
    const whole = (held === '' ? all : all.slice(0, -1)).replace(/\r\n?/g, '\n')
    const cut = whole.lastIndexOf('\n') + 1
    this.#rest = whole.slice(cut) + held
    return (cut === 0 ? '' : this.#shown(whole.slice(0, cut))) + this.#cutRest()
  }

  /** The end of what is cut off may be the beginning of a secret, or of a terminal code in one: so much stays. */
  #cutRest(): string {
    const kept = this.#mask.longest + LONGEST_TERMINAL_CODE
    if (this.#rest.length < LONGEST_LINE + kept) return ''
    const masked = this.#masked(this.#rest)
    const cut = Math.max(0, masked.length - kept)
    this.#rest = masked.slice(cut)
    return cut === 0 ? '' : this.#shown(`${masked.slice(0, cut)}\n`)
  }
}

function withoutLongLines(text: string): string {
  if (text.length <= LONGEST_LINE) return text
  const pieces: string[] = []
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\n', at)
    const stop = end === -1 ? text.length : end + 1
    for (; stop - at > LONGEST_LINE + 1; at += LONGEST_LINE)
      pieces.push(text.slice(at, at + LONGEST_LINE), '\n')
    pieces.push(text.slice(at, stop))
    at = stop
  }
  return pieces.join('')
}
