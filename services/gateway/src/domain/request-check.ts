import { invalidInput } from '@atrium/kernel/errors'
import type { Static, TSchema } from 'typebox'
import type { Validator } from 'typebox/compile'
import { invalidField, missingField } from '../errors.ts'

/**
 * The body as a request. Good ones cost one compiled check; what is wrong is worked out only for bad ones.
 * @throws AppError 400 when one of the fields is missing, 422 naming the field that is wrong
 */
export function checkRequest<S extends TSchema>(
  validator: Validator<Record<never, never>, S>,
  required: readonly string[],
  value: unknown,
): Static<S> {
  if (validator.Check(value)) return value
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidInput('body', 'must be a JSON object')
  }
  for (const field of required) if (!(field in value)) throw missingField(field)
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
