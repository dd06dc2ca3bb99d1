import { type RawBuilder, sql } from '@atrium/kernel/db'
import { jsonb } from './json.ts'
import type { JsonObject } from './tables.ts'

/**
 * Conditions that a row's metadata meets the filter: each key must match, a scalar exactly, an array by any of its
 * values. A key with dots names a nested value, or a key that holds these dots itself.
 * @param column the metadata, a jsonb object
 */
export function metadataMatches(column: RawBuilder<unknown>, filter: JsonObject): RawBuilder<unknown>[] {
  return Object.entries(filter).map(([key, wanted]) => {
    const plain = isWanted(sql`${column} -> ${key}::text`, wanted)
    if (!key.includes('.')) return plain
    const nested = isWanted(sql`${column} #> ${key.split('.')}::text[]`, wanted)
    return sql`(${plain} OR ${nested})`
  })
}

const isWanted = (found: RawBuilder<unknown>, wanted: unknown): RawBuilder<unknown> =>
  Array.isArray(wanted)
    ? sql`(${found}) IN (SELECT jsonb_array_elements(${jsonb(wanted)}))`
    : sql`(${found}) = ${jsonb(wanted)}`
