import type { FastifyReply, FastifyRequest } from 'fastify'
import { preconditionFailed } from '../errors.ts'

/** The entity tag of a row's version number (RFC 9110 §8.8.3). */
export const etagOf = (version: number): string => `"${version}"`

/** Sends the tag with a single read or write. */
export function setEtag(reply: FastifyReply, version: number): void {
  reply.header('etag', etagOf(version))
}

/**
 * The version that the caller's `If-Match` demands, for use in the UPDATE's own WHERE: undefined when
 * there is no such header or it is `*`.
 * @throws AppError 412 when the header names no tag of ours
 */
export function ifMatchVersions(request: FastifyRequest): number[] | undefined {
  const header = request.headers['if-match']
  if (header === undefined || header.trim() === '*') return undefined
  const versions = header.split(',').flatMap((tag) => {
    const match = /^"(\d{1,15})"$/.exec(tag.trim())
    const version = match === null ? Number.NaN : Number(match[1])
    // Versions are int4: a larger number is none of ours, and the database would refuse to compare with it.
    return version <= 2_147_483_647 ? [version] : []
  })
  if (versions.length === 0) throw preconditionFailed()
  return versions
}

/** The same for a PUT that creates what is not there: `If-Match: *` wants that it is there (RFC 9110 §13.1.1). */
export const ifMatchOfUpsert = (request: FastifyRequest): number[] | 'any' | undefined =>
  request.headers['if-match']?.trim() === '*' ? 'any' : ifMatchVersions(request)

/** Whether the caller has what this tag names already (`If-None-Match`, compared weakly). */
export function isNotModified(request: FastifyRequest, tag: string): boolean {
  const header = request.headers['if-none-match']
  if (header === undefined) return false
  return header.trim() === '*' || header.split(',').some((one) => one.trim().replace(/^W\//, '') === tag)
}
