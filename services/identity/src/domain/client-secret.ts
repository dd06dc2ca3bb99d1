import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { invalidInput } from '@atrium/kernel/errors'

/** 256 random bits: too many to guess, so a fast hash guards them as well as a slow one. */
export const newClientSecret = (): string => randomBytes(32).toString('base64url')

export const hashClientSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer')

const SHORTEST = 16
const LONGEST = 256

/** For secrets that an operator chose. @throws AppError 400 when it is too short to be guarded by a fast hash */
export function checkChosenSecret(secret: string): void {
  if (secret.length < SHORTEST || secret.length > LONGEST) {
    throw invalidInput('secret', `must have ${SHORTEST} to ${LONGEST} characters`)
  }
  if (!/^[\x21-\x7e]+$/.test(secret))
    throw invalidInput('secret', 'must be of printable ASCII without spaces')
}

/** Compares with every hash, whatever the outcome of the others, each in constant time. */
export function matchesAnyHash(secret: string, hashes: readonly Buffer[]): boolean {
  const given = hashClientSecret(secret)
  let matches = false
  for (const known of hashes) matches = timingSafeEqual(given, known) || matches
  return matches
}
