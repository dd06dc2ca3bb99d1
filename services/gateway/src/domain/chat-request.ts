import { invalidInput } from '@atrium/kernel/errors'
import { Compile } from 'typebox/compile'
import { ChatCompletionRequest } from '../contract/chat-completions.ts'
import { invalidField, missingField } from '../errors.ts'

const validator = Compile(ChatCompletionRequest)

/**
 * The body as a chat completion request. Good ones cost one compiled check; what is wrong is worked out
 * only for bad ones.
 * @throws AppError 400 without `model` or `messages`, 422 naming the field that is wrong
 */
export function checkChatRequest(value: unknown): ChatCompletionRequest {
  if (validator.Check(value)) return value
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidInput('body', 'must be a JSON object')
  }
  for (const field of ['model', 'messages']) if (!(field in value)) throw missingField(field)
  const [first] = [...validator.Errors(value)]
  throw invalidField(fieldOf(first?.instancePath ?? ''), first?.message ?? 'is not valid')
}

/** "/messages/0/role" → "messages[0].role". */
const fieldOf = (pointer: string): string =>
  pointer
    .split('/')
    .slice(1)
    .reduce(
      (path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : path === '' ? part : `${path}.${part}`),
      '',
    )
