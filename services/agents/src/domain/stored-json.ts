import { invalidInput } from '@atrium/kernel/errors'

/** Where below a value the first number is that is none, e.g. `.a[3]`; the path is made only when there is one. */
function findNonFinite(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : ''
  if (typeof value !== 'object' || value === null) return undefined
  const isArray = Array.isArray(value)
  for (const [key, item] of Object.entries(value)) {
    const found = findNonFinite(item)
    if (found !== undefined) return `${isArray ? `[${key}]` : `.${key}`}${found}`
  }
  return undefined
}

/**
 * Refuses what JSON text can say and a double cannot: `1e999` reads as Infinity, and would be stored as null.
 * @param path named in the error, e.g. `body.metadata`
 * @throws AppError 400
 */
export function demandFiniteNumbers(path: string, value: unknown): void {
  const found = findNonFinite(value)
  if (found !== undefined) throw invalidInput(path + found, 'is a number beyond the range of a double')
}
