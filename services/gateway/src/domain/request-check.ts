import { setImmediate } from 'node:timers/promises'
import { invalidInput } from '@atrium/kernel/errors'
import type { Static, TObject, TSchema } from 'typebox'
import type { Validator } from 'typebox/compile'
import { invalidField, invalidInputValue, missingField } from '../errors.ts'
import { jsonMembers } from './json-members.ts'

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

/** Bodies up to here are walked at once. */
const SHORT_BYTES = 262_144

/** A name as parsers read it that know no upper and lower case. */
export const foldedName = (name: string): string => name.toUpperCase().toLowerCase()

/**
 * Looks whether what was checked is what any backend reads: parsers differ in which one counts of two equal fields, and
 * in whether `Model` is `model`. Fields that the contract does not name are the backend's affair.
 * @param raw valid JSON, an object
 * @returns when others had their turns, for long bodies
 * @throws AppError 400 naming the field
 */
export function demandFieldsOnce(raw: Buffer, { properties }: TObject): Promise<void> | undefined {
  const walk = faultyFields(raw, properties)
  if (raw.length > SHORT_BYTES) return walkInTurns(walk)
  for (const _ of walk);
  return undefined
}

async function walkInTurns(walk: Iterable<void>): Promise<void> {
  for (const _ of walk) await setImmediate()
}

function* faultyFields(raw: Buffer, properties: object): Generator<void> {
  const seen: string[] = []
  for (const member of jsonMembers(raw)) {
    if (member === undefined) {
      yield
      continue
    }
    const { name } = member
    if (Object.hasOwn(properties, name)) {
      if (seen.includes(name)) throw invalidInputValue(name, 'is given more than once')
      seen.push(name)
      continue
    }
    const folded = foldedName(name)
    if (folded !== name && Object.hasOwn(properties, folded))
      throw invalidInputValue(name, `must be written '${folded}'`)
  }
}
