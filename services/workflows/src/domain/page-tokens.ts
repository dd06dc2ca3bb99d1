import { createHmac, timingSafeEqual } from 'node:crypto'
import { invalidInput } from '@atrium/kernel/errors'

const MAC_BYTES = 16

/**
 * Opaque tokens of pages: where a list goes on, signed, so that one that was altered, or is of another list, is refused
 * instead of showing something else.
 */
export class PageTokens {
  readonly #keys: () => readonly [Buffer, ...Buffer[]]

  /** @param keys the first signs, all are accepted; asked for each token */
  constructor(keys: () => readonly [Buffer, ...Buffer[]]) {
    this.#keys = keys
  }

  /**
   * @param list names the list: what it is of, and its filters
   * @param cursor what the last row of the page is found by
   */
  issue(list: readonly string[], cursor: readonly string[]): string {
    const text = Buffer.from(JSON.stringify(cursor))
    return Buffer.concat([mac(this.#keys()[0], list, text), text]).toString('base64url')
  }

  /**
   * @param token `query.pageToken`; undefined and empty stand for the first page
   * @returns the cursor; undefined for the first page
   * @throws AppError 400
   */
  read(list: readonly string[], token: string | undefined): readonly string[] | undefined {
    if (token === undefined || token === '') return undefined
    const bytes = Buffer.from(token, 'base64url')
    const [given, text] = [bytes.subarray(0, MAC_BYTES), bytes.subarray(MAC_BYTES)]
    const isOurs =
      // Decoding skips what is no base64, and other padding gives the same bytes.
      bytes.toString('base64url') === token &&
      given.length === MAC_BYTES &&
      this.#keys().some((key) => timingSafeEqual(given, mac(key, list, text)))
    if (!isOurs) throw invalidInput('query.pageToken', 'is no token of this list')
    return JSON.parse(text.toString()) as string[]
  }
}

const mac = (key: Buffer, list: readonly string[], text: Buffer): Buffer =>
  createHmac('sha256', key)
    .update(JSON.stringify(list))
    .update('\0')
    .update(text)
    .digest()
    .subarray(0, MAC_BYTES)
