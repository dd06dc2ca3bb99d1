import { MailAddress } from '@atrium/access'
import { named, pageQuery, requiredText, textLike } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { Actor, listOf, oneOf, Role, Timestamp, Uuid } from './common.ts'

const Environment = named('ClientEnvironment', oneOf('int', 'prod'))
const ClientStatus = named('ClientStatus', oneOf('In Progress', 'Active', 'Disabled'))
const TokenLifetime = Type.Integer({ minimum: 60, maximum: 86_400 })
const Grants = Type.Array(named('ClientGrant', Type.Object({ spaceId: Uuid, role: Role })), {
  maxItems: 1000,
  description: 'Roles in spaces, one for each space',
})

const fields = {
  name: requiredText(200),
  environment: Environment,
  tokenLifetimeSeconds: TokenLifetime,
  grants: Grants,
  superuser: Type.Boolean(),
}

export const ClientInput = named(
  'CreateClient',
  Type.Object({
    clientId: Type.Optional(
      textLike('^[\\x21-\\x2e\\x30-\\x7e]{1,128}$', 'be 1 to 128 visible ASCII characters without /', {
        description: 'Only where the client has an id already, at an external issuer; else one is made',
      }),
    ),
    name: fields.name,
    environment: fields.environment,
    tokenLifetimeSeconds: Type.Optional(TokenLifetime),
    grants: Type.Optional(Grants),
    superuser: Type.Optional(Type.Boolean({ default: false })),
    mailAddress: Type.Optional(MailAddress),
  }),
)

export const ClientChanges = named(
  'UpdateClient',
  Type.Partial(
    Type.Object({
      ...fields,
      mailAddress: Type.Union([MailAddress, Type.Null()]),
      status: Type.Unsafe<'Active' | 'Disabled'>({
        type: 'string',
        enum: ['Active', 'Disabled'],
        description:
          'An approved client can be disabled and enabled again; a registration only be disabled, for good',
      }),
    }),
  ),
)

export const MachineClient = named(
  'MachineClient',
  Type.Object({
    clientId: Type.String(),
    name: Type.String(),
    environment: Environment,
    status: ClientStatus,
    tokenLifetimeSeconds: Type.Integer(),
    grants: Type.Array(named('GrantedRole', Type.Object({ spaceId: Type.String(), role: Role }))),
    superuser: Type.Boolean(),
    mailAddress: Type.Optional(Type.String()),
    approvedAt: Type.Optional(Timestamp),
    createdBy: Actor,
    modifiedBy: Actor,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  }),
)

/** With the secret in it, unless that went out by mail. */
export const ClientWithSecret = named(
  'ClientWithSecret',
  Type.Object({
    ...MachineClient.properties,
    delivery: oneOf('answer', 'mail'),
    clientSecret: Type.Optional(
      Type.String({ description: 'Shown this once; absent where it went out by mail' }),
    ),
  }),
)

export const SecretRotation = named(
  'RotateClientSecret',
  Type.Object({
    overlapSeconds: Type.Integer({
      minimum: 0,
      maximum: 604_800,
      default: 86_400,
      description: 'How long the old secret still works',
    }),
  }),
)

export const ClientQuery = Type.Object({
  ...pageQuery(
    'clientId',
    'name',
    'environment',
    'status',
    'tokenLifetimeSeconds',
    'superuser',
    'mailAddress',
    'approvedAt',
    'createdAt',
    'updatedAt',
  ).properties,
  status: Type.Optional(ClientStatus),
  environment: Type.Optional(Environment),
})
export const ClientList = listOf('MachineClientPage', MachineClient)
export const ClientParams = Type.Object({ clientId: Type.String() })

export type ClientInput = Static<typeof ClientInput>
export type ClientChanges = Static<typeof ClientChanges>
export type ClientQuery = Static<typeof ClientQuery>
