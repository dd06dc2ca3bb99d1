import { EventCutter } from './event-cutter.ts'
import { type JsonMember, jsonMembers } from './json-members.ts'
import type { Usage } from './price.ts'
import { usageOfText } from './usage.ts'

/** An event that is longer is no chunk of an answer; it would have to be held, and read at once. */
export const MAX_EVENT_BYTES = 6 * 1024 * 1024
const LF = 0x0a
const EMPTY = Buffer.alloc(0)

const USAGE = '"usage"'
const ERROR = '"error"'
const FINISH = '"finish_reason"'
const FINISH_TEXT = /\s*:\s*"/y
const DONE = /^data:\s*\[DONE\]/m
/** A blank line, whatever its end of line is. */
const BLANK_LINE = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?!\n))/g
const EMPTY_BYTES = 32
const EMPTY_LIST = /^\[\s*\]$/

/** `"content":"…"` and its like, in the Latin-1 view of an event. */
const TEXT_FIELDS =
  /"(?:content|reasoning_content|reasoning|refusal|arguments|name)"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*)"/g

/** What one event says of usage, and which of its bytes are not for a caller who did not ask for it. */
interface UsageNote {
  readonly usage: Usage | undefined
  readonly hidden: readonly [start: number, end: number] | undefined
}

/**
 * Reads along with server-sent events: cuts at the ends of events, so that a caller never gets half of one, notes usage,
 * text and the signs of a proper end, and takes out the usage that was asked for on the platform's account. Every
 * other byte stays as it came.
 */
export class EventScanner {
  /** What the backend said about usage, the last time it did. */
  usage: Usage | undefined
  /** A `finish_reason` or `[DONE]` was seen. */
  isFinished = false
  isDone = false
  /** An event reported an error of the backend. */
  hasError = false
  readonly #cutter = new EventCutter()
  readonly #onText: (text: string) => void
  readonly #hidesUsage: boolean
  /** The last event was taken out after a CR, whose LF may come as the next byte. */
  #dropsLf = false

  /**
   * @param onText receives the text that the model produced, in pieces
   * @param hidesUsage the caller did not ask for the usage
   */
  constructor(onText: (text: string) => void, hidesUsage: boolean) {
    this.#onText = onText
    this.#hidesUsage = hidesUsage
  }

  /** An event is longer than any answer's. */
  get isTooLong(): boolean {
    return this.#cutter.heldBytes > MAX_EVENT_BYTES
  }

  /** The whole events that are complete with this chunk, for the caller; perhaps none. */
  push(chunk: Buffer): Buffer {
    const events = this.#cutter.push(chunk)
    return events.length === 0 ? EMPTY : this.#read(events)
  }

  /** What is left when the backend ended properly without a blank line. */
  rest(): Buffer {
    const rest = this.#cutter.rest()
    return rest.length === 0 ? EMPTY : this.#read(rest)
  }

  #read(events: Buffer): Buffer {
    // Latin-1 keeps offsets and costs no decoding; only text that is kept becomes UTF-8.
    const text = events.toString('latin1')
    if (!this.isFinished && hasFinishReason(text)) this.isFinished = true
    if (!this.hasError && text.includes(ERROR)) this.hasError = reportsError(events, text)
    if (text.includes('[DONE]') && DONE.test(text)) {
      this.isDone = true
      this.isFinished = true
    }
    // What stands before the first delta is the same in every chunk, and holds no text.
    TEXT_FIELDS.lastIndex = Math.max(0, text.indexOf('"delta"'))
    for (let match = TEXT_FIELDS.exec(text); match !== null; match = TEXT_FIELDS.exec(text)) {
      if (match[1] === undefined || match[1] === '') continue
      // The closing quote is the last of the match.
      this.#onText(decode(match[1], events, TEXT_FIELDS.lastIndex - 1))
    }
    const start = this.#dropsLf && events[0] === LF ? 1 : 0
    this.#dropsLf = false
    if (text.includes(USAGE)) return this.#takeOutUsage(events, text, start)
    return start === 0 ? events : events.subarray(start)
  }

  #takeOutUsage(events: Buffer, text: string, first: number): Buffer {
    // What stays moves up within the buffer, which is this stream's alone: another copy of it would be garbage.
    let kept = first
    let copied = first
    // A line end that comes first belongs to the event before, which ended with its CR.
    let start = events[first] === LF ? first + 1 : first
    let key = text.indexOf(USAGE, first)
    for (BLANK_LINE.lastIndex = start; key !== -1; ) {
      const end = BLANK_LINE.exec(text) === null ? text.length : BLANK_LINE.lastIndex
      if (key < end) {
        const { usage, hidden } = usageOfEvent(events, text, start, end)
        if (usage !== undefined) this.usage = usage
        if (this.#hidesUsage && hidden !== undefined) {
          kept = moveUp(events, kept, copied, hidden[0])
          copied = hidden[1]
        }
        key = text.indexOf(USAGE, end)
      }
      start = end
      BLANK_LINE.lastIndex = end
    }
    if (copied === 0) return events
    this.#dropsLf = copied === text.length && text.endsWith('\r')
    return events.subarray(first, moveUp(events, kept, copied, events.length))
  }
}

/** Moves bytes to `to`. @returns where they end then */
function moveUp(bytes: Buffer, to: number, start: number, end: number): number {
  if (to !== start) bytes.copyWithin(to, start, end)
  return to + end - start
}

/** Reads the top level of the event's data; what is nested, or echoed by a backend, says nothing. */
function usageOfEvent(events: Buffer, text: string, start: number, end: number): UsageNote {
  const data = text.indexOf('{', text.indexOf('data:', start))
  const event = text.slice(start, end)
  // Data on several lines is put together first; of these there is no part to take out, but the whole.
  const isSplit = hasMoreData(event, data - start)
  const json = isSplit ? Buffer.from(dataOf(event), 'latin1') : events.subarray(data, end)
  let usage: Usage | undefined
  let hasUsage = false
  let hasChoices = false
  let hidden: UsageNote['hidden']
  let last: JsonMember | undefined
  for (const member of jsonMembers(json)) {
    if (member === undefined) continue
    if (hidden !== undefined && last?.name === 'usage' && hidden[0] === data + last.start)
      hidden = [hidden[0], data + member.start]
    if (member.name === 'choices') hasChoices = !isEmptyList(json, member)
    else if (member.name === 'usage') {
      const value = json.toString('latin1', member.valueStart, member.end)
      hasUsage = value.startsWith('{')
      usage = usageOfText(value)
      // A member goes with the comma before it; the first one with the comma behind it.
      if (value === 'null' && !isSplit) hidden = [data + (last?.end ?? member.start), data + member.end]
    }
    last = member
  }
  return { usage, hidden: hasUsage && !hasChoices ? [start, end] : hidden }
}

/** Choices are all of a long event: only what could be empty is looked at. */
const isEmptyList = (json: Buffer, { valueStart, end }: JsonMember): boolean =>
  end - valueStart <= EMPTY_BYTES && EMPTY_LIST.test(json.toString('latin1', valueStart, end))

/** Whether data goes on in another line, after the one that begins before `first`. */
const hasMoreData = (event: string, first: number): boolean =>
  event.includes('\ndata:', first) || event.includes('\rdata:', first)

const dataOf = (event: string): string =>
  event
    .split(/\r\n|\n|\r/)
    .flatMap((line) => (line.startsWith('data:') ? [line.slice(5)] : []))
    .join('\n')

/** Whether an event's data has an `error` at its top level; what a model writes has not. */
function reportsError(events: Buffer, text: string): boolean {
  let start = 0
  BLANK_LINE.lastIndex = 0
  for (let at = text.indexOf(ERROR); at !== -1; ) {
    const end = BLANK_LINE.exec(text) === null ? text.length : BLANK_LINE.lastIndex
    if (at < end) {
      const data = text.indexOf('{', start)
      for (const member of jsonMembers(events.subarray(data, end))) {
        if (member?.name !== 'error') continue
        if (text.slice(data + member.valueStart, data + member.end) !== 'null') return true
      }
      at = text.indexOf(ERROR, end)
    }
    start = end
    BLANK_LINE.lastIndex = end
  }
  return false
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

/** Native decoding beats a look at each character of what is longer. */
const SHORT_TEXT = 4096

/** A JSON string's inside as text; it is given in Latin-1, and ends at `end` of the bytes. */
function decode(latin1: string, bytes: Buffer, end: number): string {
  if (latin1.length < SHORT_TEXT && !SPECIAL.test(latin1)) return latin1
  const text = bytes.toString('utf8', end - latin1.length, end)
  if (!text.includes('\\')) return text
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    return text
  }
}
