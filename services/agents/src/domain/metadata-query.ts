import { invalidInput } from '@atrium/kernel/errors'
import type { JsonObject } from '../queries/tables.ts'
import { demandFiniteNumbers } from './stored-json.ts'

/**
 * The metadata that a QUERY asks for.
 * @throws AppError 400 for numbers that do not exist and for operators, which would find nothing in silence
 */
export function metadataFilterOf(body: { readonly metadata?: JsonObject }): JsonObject {
  const filter = body.metadata ?? {}
  demandFiniteNumbers('body.metadata', filter)
  for (const [key, wanted] of Object.entries(filter)) {
    if (typeof wanted !== 'object' || wanted === null || Array.isArray(wanted)) continue
    const operator = Object.keys(wanted).find((name) => name.startsWith('$'))
    if (operator === undefined) continue
    throw invalidInput(
      `body.metadata.${key}`,
      `must be a value or an array of values: ${operator} is no operator here`,
    )
  }
  return filter
}
