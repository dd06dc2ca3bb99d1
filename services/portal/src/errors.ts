import {
  AppError,
  conflict,
  forbidden,
  invalidInput,
  invalidToken,
  notFound,
  preconditionFailed,
} from '@atrium/kernel/errors'

/** Every failure that the portal answers on purpose, by name. */
export const spaceNotFound = (spaceId: string): AppError => notFound('Space', spaceId)
export const deletedSpaceNotFound = (spaceId: string): AppError => notFound('Deleted space', spaceId)
export const userNotFound = (userId: string): AppError => notFound('User', userId)
export const membershipNotFound = (userId: string): AppError => notFound('Membership of user', userId)
export const superuserNotFound = (userId: string): AppError => notFound('Superuser', userId)
export const workspaceNotFound = (workspaceId: string): AppError => notFound('Workspace', workspaceId)
export const cdhLinkNotFound = (linkId: string): AppError => notFound('Data-hub link', linkId)
export const apiKeyNotFound = (keyId: string): AppError => notFound('API key', keyId)

export const clientNotFound = (clientId: string): AppError => notFound('Client', clientId)
export const invitationNotFound = (invitationId: string): AppError => notFound('Invitation', invitationId)

export const clientKnown = (clientId: string): AppError =>
  conflict(`There is a client ${clientId} already`, 'client_exists')

export const clientIdOfPerson = (clientId: string): AppError =>
  conflict(`${clientId} is the id of a person; a client needs another one`, 'id_is_of_person')

export const illegalClientStatus = (from: string, to: string): AppError =>
  conflict(
    from === 'In Progress'
      ? `A client that is In Progress cannot become ${to} but by approval`
      : `A client that is ${from} cannot become ${to}`,
    'illegal_client_status',
  )

export const invitationInvalid = (): AppError =>
  invalidInput('body.token', 'is no invitation of this platform')

/** An invitation that was good once. */
export const invitationEnded = (how: 'expired' | 'used' | 'revoked'): AppError =>
  new AppError(
    410,
    `invitation_${how}`,
    how === 'used'
      ? 'This invitation has been used'
      : `This invitation has ${how === 'expired' ? 'expired' : 'been revoked'}`,
  )

export const invitationNotRequested = (status: string): AppError =>
  conflict(`An invitation that is ${status} does not wait for approval`, 'invitation_not_requested')

export const invitationForAnother = (): AppError =>
  forbidden('This invitation was sent to another mail address than yours', 'invitation_for_another')

export const nameTaken = (qNumber: string): AppError =>
  conflict(`The user name ${qNumber} is taken`, 'user_name_taken')

export const alreadyMember = (): AppError => conflict('You are in this space already', 'already_in_space')

export const invitationAccepted = (): AppError =>
  conflict('This invitation has been accepted: remove the member instead', 'invitation_accepted')

export const alreadyInSpace = (qNumber: string): AppError =>
  new AppError(400, 'already_in_space', `${qNumber} is already in this space`, { field: 'body.qNumber' })

export const superuserExists = (qNumber: string): AppError =>
  new AppError(400, 'superuser_exists', `${qNumber} is already a superuser`, { field: 'body.qNumber' })

export const lastSuperuser = (): AppError =>
  conflict('This is the last superuser: appoint another one first', 'last_superuser')

export const qNumberTaken = (qNumber: string): AppError =>
  new AppError(400, 'q_number_taken', `Another person has the Q number ${qNumber}`, { field: 'body.qNumber' })

export const namespaceExists = (name: string): AppError =>
  conflict(`This space already has a workspace with the namespace ${name}`, 'namespace_exists')

export const linkNameExists = (name: string): AppError =>
  conflict(`This space already has a data-hub link named ${name}`, 'link_exists')

/** A key that has ended cannot be changed back into one that works. */
export const keyNotUsable = (why: 'revoked' | 'expired'): AppError =>
  conflict(
    why === 'revoked'
      ? 'The API key has been revoked: create a new one'
      : 'The API key has expired: give it a later expiryDate first',
    `api_key_${why}`,
  )

export const onlySuperusersRaise = (field: string): AppError =>
  forbidden(`Superuser required to raise ${field}: an owner may only bring it down`)

/** Whoever holds all 122 bits of a key gains nothing from why it is refused, so the answer says it. */
export const keyUnknown = (): AppError => invalidToken('The API key is not valid', 'invalid_api_key')
export const keyRevoked = (): AppError => invalidToken('The API key has been revoked', 'api_key_revoked')
export const keyExpired = (): AppError => invalidToken('The API key has expired', 'api_key_expired')

/**
 * Why a conditional write touched no row.
 * @param exists whether the row is there in another version
 */
export const missed = (exists: boolean, absent: AppError): AppError =>
  exists ? preconditionFailed() : absent
