/**
 * Whether a text has `least` to `most` characters as JSON Schema counts them: one for each code point. Looks at no more
 * of it than that takes.
 */
export function hasLength(text: string, least: number, most: number): boolean {
  // A code point takes one or two of the units that `length` counts.
  if (text.length < least || text.length > 2 * most) return false
  let count = 0
  for (const _ of text) count += 1
  return count >= least && count <= most
}
