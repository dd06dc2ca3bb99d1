/** OpenAI's error, as its clients read it. Further fields of the backend's stay. */
interface OpenAiError {
  readonly message: string
  readonly type: string
  readonly param: string | null
  readonly code: string | null
}

/** A longer message tells nobody more. */
const MAX_MESSAGE_CHARS = 4096
/** Longer bodies are no errors. */
const MAX_BODY_BYTES = 1_048_576

/**
 * An error body as OpenAI's clients understand it: OpenAI's own as it came, those of llama.cpp, vLLM, Ollama and FastAPI
 * with their message, type and code, a line of plain text as the message.
 * @param status that the caller gets, for errors without a type
 * @returns undefined when the body says nothing that could be shown
 */
export function errorBodyOf(
  body: Buffer,
  contentType: string | undefined,
  status: number,
): Buffer | undefined {
  if (body.length > MAX_BODY_BYTES) return undefined
  const text = body.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    const isPlain = contentType?.startsWith('text/plain') === true
    return isPlain ? jsonOf(errorOf({ message: text.trim() }, status)) : undefined
  }
  const fields = fieldsOf(value)
  if (fields === undefined) return undefined
  const isOpenAis = isRecord(value) && fields === value.error && isOpenAiError(fields)
  return isOpenAis ? body : jsonOf(errorOf(fields, status))
}

type Fields = Readonly<Record<string, unknown>>

const isRecord = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''

const isTextOrNull = (value: unknown): boolean => value === null || typeof value === 'string'

const isOpenAiError = ({ message, type, param, code }: Fields): boolean =>
  isText(message) && typeof type === 'string' && isTextOrNull(param) && isTextOrNull(code)

/** The object that has the message, wherever the backend puts it. */
function fieldsOf(value: unknown): Fields | undefined {
  if (isText(value)) return { message: value }
  if (!isRecord(value)) return undefined
  const { error, detail, message } = value
  // OpenAI's place, which llama.cpp and vLLM have too; Ollama's own API has the bare text there.
  if (isRecord(error) && isText(error.message)) return error
  if (isText(error)) return { message: error }
  if (isText(detail)) return { message: detail }
  // LiteLLM and others put an error into FastAPI's detail.
  if (isRecord(detail)) return fieldsOf(detail)
  if (Array.isArray(detail)) return fieldsOfValidation(detail)
  // vLLM's before it had OpenAI's place.
  return isText(message) ? { message, type: value.type, param: value.param, code: value.code } : undefined
}

/** FastAPI's list of what is wrong with a request: `{loc: ['body', 'messages', 0, 'role'], msg, type}`. */
function fieldsOfValidation(list: readonly unknown[]): Fields | undefined {
  const faults = list.slice(0, 20).flatMap((one) => (isRecord(one) && isText(one.msg) ? [one] : []))
  const [first] = faults
  if (first === undefined) return undefined
  const message = faults.map((fault) => `${pathOf(fault.loc) ?? 'body'}: ${fault.msg}`).join('; ')
  return { message, type: 'invalid_request_error', param: pathOf(first.loc), code: first.type }
}

/** ['body', 'messages', 0, 'role'] → 'messages[0].role'. */
function pathOf(loc: unknown): string | null {
  if (!Array.isArray(loc)) return null
  const parts: unknown[] = loc[0] === 'body' ? loc.slice(1) : loc
  return parts.length === 0
    ? null
    : parts
        .map((part, at) => (typeof part === 'number' ? `[${part}]` : at === 0 ? part : `.${part}`))
        .join('')
}

function errorOf(fields: Fields, status: number): OpenAiError | undefined {
  const { message, type, param, code } = fields
  if (!isText(message)) return undefined
  return {
    ...fields,
    message: message.length > MAX_MESSAGE_CHARS ? `${message.slice(0, MAX_MESSAGE_CHARS)}…` : message,
    type: isText(type) ? type : usualType(status),
    param: isText(param) ? param : null,
    code: isText(code) ? code : typeof code === 'number' ? String(code) : null,
  }
}

const usualType = (status: number): string =>
  status === 429 ? 'rate_limit_error' : status >= 500 ? 'server_error' : 'invalid_request_error'

const jsonOf = (error: OpenAiError | undefined): Buffer | undefined =>
  error === undefined ? undefined : Buffer.from(JSON.stringify({ error }))
