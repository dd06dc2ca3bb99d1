import { PageQuery } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { Actor, listOf, MailAddress, oneOf, Role, Timestamp, Uuid } from './common.ts'

const InvitationStatus = oneOf('Pending', 'Accepted', 'Revoked', 'Expired')

export const InvitationInput = Type.Object({ mailAddress: MailAddress, role: Role })

export const Invitation = Type.Object({
  invitationId: Type.String(),
  spaceId: Type.String(),
  mailAddress: Type.String(),
  role: Role,
  status: InvitationStatus,
  expiresAt: Timestamp,
  acceptedAt: Type.Optional(Timestamp),
  acceptedBy: Type.Optional(Type.String({ description: 'QX id' })),
  revokedAt: Type.Optional(Timestamp),
  createdBy: Actor,
  modifiedBy: Actor,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

export const CreatedInvitation = Type.Object({
  ...Invitation.properties,
  delivery: oneOf('answer', 'mail'),
  token: Type.Optional(Type.String({ description: 'Shown this once; absent where it went out by mail' })),
})

export const InvitationAcceptance = Type.Object({ token: Type.String({ minLength: 1, maxLength: 400 }) })

export const AcceptedInvitation = Type.Object({
  spaceId: Type.String(),
  spaceName: Type.String(),
  userId: Type.String(),
  role: Role,
})

export const InvitationQuery = Type.Object({
  ...PageQuery.properties,
  status: Type.Optional(InvitationStatus),
})
export const InvitationList = listOf(Invitation)
export const InvitationParams = Type.Object({ spaceId: Type.String(), invitationId: Uuid })

export type InvitationInput = Static<typeof InvitationInput>
