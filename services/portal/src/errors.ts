import {
  AppError,
  conflict,
  invalidInput,
  notFound,
  preconditionFailed,
  unauthorized,
} from '@atrium/kernel/errors'

/** Every failure that the portal answers on purpose, by name. */
export const spaceNotFound = (spaceId: string): AppError => notFound('Space', spaceId)
export const userNotFound = (userId: string): AppError => notFound('User', userId)
export const membershipNotFound = (userId: string): AppError => notFound('Membership of user', userId)
export const superuserNotFound = (userId: string): AppError => notFound('Superuser', userId)
export const workspaceNotFound = (workspaceId: string): AppError => notFound('Workspace', workspaceId)
export const cdhLinkNotFound = (linkId: string): AppError => notFound('Data-hub link', linkId)
export const apiKeyNotFound = (keyId: string): AppError => notFound('API key', keyId)

export const alreadyInSpace = (qNumber: string): AppError =>
  new AppError(400, 'already_in_space', `${qNumber} is already in this space`, { field: 'body.qNumber' })

export const superuserExists = (qNumber: string): AppError =>
  new AppError(400, 'superuser_exists', `${qNumber} is already a superuser`, { field: 'body.qNumber' })

export const qNumberTaken = (qNumber: string): AppError =>
  new AppError(400, 'q_number_taken', `Another person has the Q number ${qNumber}`, { field: 'body.qNumber' })

export const namespaceExists = (name: string): AppError =>
  conflict(`This space already has a workspace with the namespace ${name}`, 'namespace_exists')

export const linkNameExists = (name: string): AppError =>
  conflict(`This space already has a data-hub link named ${name}`, 'link_exists')

export const unknownSortField = (field: string, known: readonly string[]): AppError =>
  invalidInput('query.sortBy', `must be one of ${known.join(', ')}, not ${JSON.stringify(field)}`)

/** Whoever holds all 122 bits of a key gains nothing from why it is refused, so the answer says it. */
export const keyUnknown = (): AppError => unauthorized('The API key is not valid', 'invalid_api_key')
export const keyRevoked = (): AppError => unauthorized('The API key has been revoked', 'api_key_revoked')
export const keyExpired = (): AppError => unauthorized('The API key has expired', 'api_key_expired')

/**
 * Why a conditional write touched no row.
 * @param exists whether the row is there in another version
 */
export const missed = (exists: boolean, absent: AppError): AppError =>
  exists ? preconditionFailed() : absent
