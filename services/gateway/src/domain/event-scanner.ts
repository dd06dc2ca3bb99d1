import type { Usage } from './price.ts'
import { findUsage } from './usage.ts'

const LF = 0x0a
/** An event that is longer passes on in pieces. */
const MAX_HELD_BYTES = 1024 * 1024
const EMPTY = Buffer.alloc(0)

const FINISH = '"finish_reason"'
const FINISH_TEXT = /\s*:\s*"/y
const DONE = /^data:\s*\[DONE\]/m

/** `"content":"…"` and its like, in the Latin-1 view of an event. */
const TEXT_FIELDS =
  /"(?:content|reasoning_content|reasoning|refusal|arguments|name)"\s*:\s*"((?:[^"\\]|\\.)*)"/g

/**
 * Reads along with server-sent events without changing a byte: cuts at the ends of events, so that a
 * caller never gets half of one, and notes usage, text and the signs of a proper end.
 */
export class EventScanner {
  /** What the backend said about usage, the last time it did. */
  usage: Usage | undefined
  /** A `finish_reason` or `[DONE]` was seen. */
  isFinished = false
  isDone = false
  #held: Buffer = EMPTY
  readonly #onText: (text: string) => void

  /** @param onText receives the text that the model produced, in pieces */
  constructor(onText: (text: string) => void) {
    this.#onText = onText
  }

  /** The whole events that are complete with this chunk, as the bytes that came; perhaps none. */
  push(chunk: Buffer): Buffer {
    const all = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    const cut = endOfLastEvent(all)
    if (cut === all.length) this.#held = EMPTY
    else if (all.length - cut > MAX_HELD_BYTES) {
      this.#held = EMPTY
      this.#read(all)
      return all
    } else this.#held = all.subarray(cut)
    if (cut === 0) return EMPTY
    const whole = cut === all.length ? all : all.subarray(0, cut)
    this.#read(whole)
    return whole
  }

  /** What is left when the backend ended properly without a blank line. */
  rest(): Buffer {
    const rest = this.#held
    this.#held = EMPTY
    if (rest.length > 0) this.#read(rest)
    return rest
  }

  #read(events: Buffer): void {
    // Latin-1 keeps offsets and costs no decoding; only text that is kept becomes UTF-8.
    const text = events.toString('latin1')
    if (text.includes('"usage"')) this.usage = findUsage(text) ?? this.usage
    if (!this.isFinished && hasFinishReason(text)) this.isFinished = true
    if (text.includes('[DONE]') && DONE.test(text)) {
      this.isDone = true
      this.isFinished = true
    }
    // What stands before the first delta is the same in every chunk, and holds no text.
    TEXT_FIELDS.lastIndex = Math.max(0, text.indexOf('"delta"'))
    for (let match = TEXT_FIELDS.exec(text); match !== null; match = TEXT_FIELDS.exec(text)) {
      if (match[1] !== undefined && match[1] !== '') this.#onText(decode(match[1]))
    }
  }
}

/** Whether a `finish_reason` is text; it is null in all chunks but the last. */
function hasFinishReason(text: string): boolean {
  for (let at = text.indexOf(FINISH); at !== -1; at = text.indexOf(FINISH, at + FINISH.length)) {
    if (text.startsWith(':null', at + FINISH.length)) continue
    FINISH_TEXT.lastIndex = at + FINISH.length
    if (FINISH_TEXT.test(text)) return true
  }
  return false
}

const SPECIAL = /[\\\x80-\xff]/

/** A JSON string's inside, in Latin-1, as text. */
function decode(latin1: string): string {
  if (!SPECIAL.test(latin1)) return latin1
  const text = Buffer.from(latin1, 'latin1').toString('utf8')
  if (!text.includes('\\')) return text
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    return text
  }
}

/** Index after the last blank line, whether lines end with LF or CRLF; 0 when there is none. */
function endOfLastEvent(bytes: Buffer): number {
  const { length } = bytes
  if (length > 1 && bytes[length - 1] === LF && bytes[length - 2] === LF) return length
  for (let end = bytes.lastIndexOf(LF); end > 0; end = bytes.lastIndexOf(LF, end - 1)) {
    if (bytes[end - 1] === LF || (bytes[end - 1] === 0x0d && bytes[end - 2] === LF)) return end + 1
  }
  return 0
}
