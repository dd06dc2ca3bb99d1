import { type RawBuilder, sql } from '@atrium/kernel/db'

/**
 * A value as JSON text that PostgreSQL takes. Half a surrogate pair is a string in JSON and none in PostgreSQL: it
 * becomes U+FFFD, as it does in every text that is sent as UTF-8.
 */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value)
  if (!text.includes('\\ud')) return text
  // Each escape is read as a whole, so that a backslash which is itself escaped begins none.
  return text.replace(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, (sequence) =>
    sequence.length > 2 ? '\\ufffd' : sequence,
  )
}

/** A value as jsonb. */
export const jsonb = <T>(value: T): RawBuilder<T> => sql<T>`${jsonText(value)}::jsonb`

/** The same for a field that may be left out, which leaves the column alone. */
export const optionalJsonb = <T>(value: T | undefined): RawBuilder<T> | undefined =>
  value === undefined ? undefined : jsonb(value)

/** The same for a column that may be null. */
export const nullableJsonb = <T>(value: T | undefined): RawBuilder<T | null> =>
  value === undefined ? sql<T | null>`NULL::jsonb` : jsonb<T | null>(value)
