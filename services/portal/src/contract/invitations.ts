import { MailAddress } from '@atrium/access'
import { named, pageQuery } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { Actor, listOf, oneOf, Role, Timestamp, Uuid } from './common.ts'

const InvitationStatus = named(
  'InvitationStatus',
  oneOf('Requested', 'Pending', 'Accepted', 'Revoked', 'Expired'),
)

export const InvitationInput = named(
  'CreateInvitation',
  Type.Object({ mailAddress: MailAddress, role: Role }),
)

export const Invitation = named(
  'Invitation',
  Type.Object({
    invitationId: Type.String(),
    spaceId: Type.String(),
    mailAddress: Type.String(),
    role: Role,
    status: Type.Unsafe<Static<typeof InvitationStatus>>({
      ...InvitationStatus,
      description: 'Requested: an owner asks for it, and a superuser has not approved it yet',
    }),
    delivery: Type.Optional(
      Type.Unsafe<'answer' | 'mail'>({
        type: 'string',
        enum: ['answer', 'mail'],
        description: 'How the token went out; absent while it is Requested',
      }),
    ),
    expiresAt: Timestamp,
    approvedAt: Type.Optional(Timestamp),
    approvedBy: Type.Optional(Type.String({ description: 'QX id or client id of who let it go out' })),
    acceptedAt: Type.Optional(Timestamp),
    acceptedBy: Type.Optional(Type.String({ description: 'QX id' })),
    revokedAt: Type.Optional(Timestamp),
    createdBy: Actor,
    modifiedBy: Actor,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  }),
)

export const CreatedInvitation = named(
  'CreatedInvitation',
  Type.Object({
    ...Invitation.properties,
    token: Type.Optional(
      Type.String({
        description: 'Shown this once; absent where it went out by mail, and while it is Requested',
      }),
    ),
  }),
)

export const InvitationAcceptance = named(
  'AcceptInvitation',
  Type.Object({ token: Type.String({ minLength: 1, maxLength: 400 }) }),
)

export const AcceptedInvitation = named(
  'AcceptedInvitation',
  Type.Object({
    spaceId: Type.String(),
    spaceName: Type.String(),
    userId: Type.String(),
    role: Role,
  }),
)

export const InvitationQuery = Type.Object({
  ...pageQuery(
    'invitationId',
    'spaceId',
    'mailAddress',
    'role',
    'status',
    'delivery',
    'expiresAt',
    'approvedAt',
    'approvedBy',
    'acceptedAt',
    'acceptedBy',
    'revokedAt',
    'createdAt',
    'updatedAt',
  ).properties,
  status: Type.Optional(InvitationStatus),
})
export const InvitationList = listOf('InvitationPage', Invitation)
export const InvitationParams = Type.Object({ spaceId: Type.String(), invitationId: Uuid })

export type InvitationInput = Static<typeof InvitationInput>
