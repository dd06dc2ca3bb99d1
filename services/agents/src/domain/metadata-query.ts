import type { JsonObject } from '../queries/tables.ts'
import { demandFiniteNumbers } from './stored-json.ts'

/** The metadata that a QUERY asks for. @throws AppError 400 for numbers that do not exist */
export function metadataFilterOf(body: { readonly metadata?: JsonObject }): JsonObject {
  const filter = body.metadata ?? {}
  demandFiniteNumbers('body.metadata', filter)
  return filter
}
