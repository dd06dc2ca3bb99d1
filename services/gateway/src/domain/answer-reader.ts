import { setImmediate } from 'node:timers/promises'
import { parseJsonInPieces } from '@atrium/kernel/json-pieces'
import { backendAnswerInvalid } from '../errors.ts'
import { jsonMembers } from './json-members.ts'
import type { Usage } from './price.ts'
import { usageOf, usageOfText } from './usage.ts'

/** Parsed at once in a few milliseconds; what is longer lets others have a turn. */
const SHORT_BYTES = 262_144

/** What the bill needs of an answer. */
export interface AnswerContent {
  /** What the backend said, if it can be right. */
  readonly usage: Usage | undefined
  /** What the model wrote, for counting; nothing where the operation counts what was asked alone. */
  text(): string
}

/** @throws AppError 502 when the answer is not what the API promises */
export type AnswerReader = (body: Buffer, backend: string) => AnswerContent | Promise<AnswerContent>

/** Reads a whole chat completion. */
export const readChatAnswer: AnswerReader = (body, backend) => {
  if (body.length > SHORT_BYTES) return readLongChat(body, backend)
  return chatContent(parse(body, backend), body, backend)
}

async function readLongChat(body: Buffer, backend: string): Promise<AnswerContent> {
  const value = await parseJsonInPieces(body, () => setImmediate()).catch(() => {
    throw notJson(backend)
  })
  return chatContent(value, body, backend)
}

function chatContent(value: unknown, body: Buffer, backend: string): AnswerContent {
  const answer = answerIn(value, backend)
  const { choices } = answer
  if (!Array.isArray(choices)) throw backendAnswerInvalid(backend, 'has no list of choices')
  for (const [index, choice] of choices.entries()) {
    if (!isRecord(choice) || !isRecord(choice.message))
      throw backendAnswerInvalid(backend, `has no message in choices[${index}]`)
  }
  return { usage: usageOf(answer.usage), text: () => textOf(body) }
}

/** Reads a list of embeddings; of a long one the top level alone, for its numbers are many. */
export const readEmbeddings: AnswerReader = (body, backend) => {
  if (body.length > SHORT_BYTES) return readLongEmbeddings(body, backend)
  const { data, usage } = answerIn(parse(body, backend), backend)
  if (!Array.isArray(data) || !data.every(isRecord)) throw noEmbeddings(backend)
  return { usage: usageOf(usage), text: nothing }
}

async function readLongEmbeddings(body: Buffer, backend: string): Promise<AnswerContent> {
  let usage: Usage | undefined
  let hasData = false
  for (const member of jsonMembers(body)) {
    if (member === undefined) await setImmediate()
    else if (member.name === 'data') hasData = body[member.valueStart] === OPEN_LIST
    else if (member.name === 'usage')
      usage = usageOfText(body.toString('utf8', member.valueStart, member.end))
  }
  if (!hasData) throw noEmbeddings(backend)
  return { usage, text: nothing }
}

const OPEN_LIST = 0x5b
const nothing = (): string => ''

const notJson = (backend: string) => backendAnswerInvalid(backend, 'is not JSON')
const noEmbeddings = (backend: string) => backendAnswerInvalid(backend, 'has no list of embeddings')

/** In Latin-1, which costs no decoding: all but the text in it is as in UTF-8. */
function parse(body: Buffer, backend: string): unknown {
  try {
    return JSON.parse(body.toString('latin1'))
  } catch {
    throw notJson(backend)
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function answerIn(value: unknown, backend: string): Record<string, unknown> {
  if (!isRecord(value)) throw notJson(backend)
  if (value.error != null && value.choices === undefined && value.data === undefined)
    throw backendAnswerInvalid(backend, 'is an error with the status of a success')
  return value
}

function textOf(body: Buffer): string {
  const { choices } = JSON.parse(body.toString('utf8')) as {
    choices: { message: { content?: unknown; tool_calls?: unknown } }[]
  }
  return choices
    .map(({ message: { content, tool_calls: calls } }) => `${plain(content)}${plain(calls)}`)
    .join('\n')
}

const plain = (value: unknown): string =>
  value == null ? '' : typeof value === 'string' ? value : JSON.stringify(value)
