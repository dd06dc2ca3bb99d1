import { invalidInput } from '@atrium/kernel/errors'

/** Of each parameter: what an application keeps in `state` belongs on its own side, under a key that it sends. */
export const LONGEST_PARAMETER = 2048
const LONGEST_QUERY = 6144

/** @throws AppError 400 that names the parameter */
export function checkAuthorizationSize(query: URLSearchParams): void {
  let size = 0
  for (const [name, value] of query) {
    const bytes = Buffer.byteLength(value)
    if (bytes > LONGEST_PARAMETER) {
      throw invalidInput(`query.${name.slice(0, 64)}`, `must have at most ${LONGEST_PARAMETER} bytes`)
    }
    size += Buffer.byteLength(name) + bytes
  }
  if (size > LONGEST_QUERY) throw invalidInput('query', `must have at most ${LONGEST_QUERY} bytes`)
}
