import { InvalidArgumentError } from 'commander'

export const wholeSeconds = (text: string): number => {
  if (!/^\d{1,9}$/.test(text) || Number(text) === 0)
    throw new InvalidArgumentError('must be a whole number of seconds')
  return Number(text)
}

export const wholeUpTo =
  (most: number) =>
  (text: string): number => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : 0
    if (number < 1 || number > most)
      throw new InvalidArgumentError(`must be a whole number from 1 to ${most}`)
    return number
  }

export function jsonObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // The same mistake as another kind of JSON.
  }
  throw new InvalidArgumentError('must be a JSON object')
}
