import { invalidInput } from '@atrium/kernel/errors'

/** Where below a value the first number is that is none, e.g. `.a[3]`; the path is made only when there is one. */
function findNonFinite(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : ''
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const found = findNonFinite(value[index])
      if (found !== undefined) return `[${index}]${found}`
    }
    return undefined
  }
  for (const key in value) {
    const found = findNonFinite((value as Readonly<Record<string, unknown>>)[key])
    if (found !== undefined) return `.${key}${found}`
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
