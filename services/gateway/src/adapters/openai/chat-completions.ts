import type { BackendAnswer, ChatCall } from '../../domain/backend.ts'
import { prependMembers, replaceMembers } from '../../domain/json-members.ts'
import { foldedName } from '../../domain/request-check.ts'
import { OptionRefused } from './call.ts'
import type { OpenAiConnection } from './connection.ts'
import { passOn } from './pass-on.ts'

/** Larger answers are none: without a limit one backend could fill the memory. */
const MAX_BYTES = 64 * 1024 * 1024
/** How long a model is not asked for usage again that refused the option. */
const REFUSED_MS = 600_000
/** More models than a server lists. */
const MAX_REFUSING = 10_000

const PATH = '/chat/completions'

/**
 * Chat completions of one server. Streams are asked for their usage whether the caller asked or not; a server that
 * refuses the option gets the call again as it came.
 */
export function createChatCompletions(
  connection: OpenAiConnection,
): (call: ChatCall) => Promise<BackendAnswer> {
  const refusedUntil = new Map<string, number>()

  async function askAndSeeRefused(call: ChatCall, asking: Buffer): Promise<BackendAnswer> {
    const { cancellation } = call
    try {
      return await passOn(connection, PATH, asking, { cancellation, maxBytes: MAX_BYTES, option: REFUSAL })
    } catch (error) {
      if (!(error instanceof OptionRefused)) throw error
      if (refusedUntil.size >= MAX_REFUSING) refusedUntil.clear()
      refusedUntil.set(call.model, Date.now() + REFUSED_MS)
      return passOn(connection, PATH, bodyOf(call), { cancellation, maxBytes: MAX_BYTES })
    }
  }

  return (call) => {
    const asking = (refusedUntil.get(call.model) ?? 0) > Date.now() ? undefined : bodyThatAsks(call)
    if (asking !== undefined) return askAndSeeRefused(call, asking)
    return passOn(connection, PATH, bodyOf(call), { cancellation: call.cancellation, maxBytes: MAX_BYTES })
  }
}

/** What a refusal of the option speaks of. */
const REFUSAL = /stream_options|include_usage/

/** The body as the caller sent it, but for the model's name where the backend has its own. */
export const bodyOf = ({
  raw,
  model,
  publicModel,
}: Pick<ChatCall, 'raw' | 'model' | 'publicModel'>): Buffer =>
  model === publicModel ? raw : replaceMembers(raw, new Map([['model', JSON.stringify(model)]]))

/** The same, with usage asked for; undefined where the caller does, or the answer is no stream. */
function bodyThatAsks(call: ChatCall): Buffer | undefined {
  const { stream, stream_options: options } = call.request
  if (stream !== true) return undefined
  if (options === undefined) return prependMembers(bodyOf(call), ASKING)
  const others = Object.entries(options ?? {}).filter(([name]) => foldedName(name) !== 'include_usage')
  const isAsked = options?.include_usage === true && others.length === Object.keys(options).length - 1
  if (isAsked) return undefined
  const asking = JSON.stringify({ ...Object.fromEntries(others), include_usage: true })
  return replaceMembers(bodyOf(call), new Map([['stream_options', asking]]))
}

const ASKING = new Map([['stream_options', '{"include_usage":true}']])
