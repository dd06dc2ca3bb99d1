import { named, pageQuery, requiredText } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { Actor, Instant, listOf, oneOf, Timestamp, Uuid } from './common.ts'

const KeyStatus = named('ApiKeyStatus', oneOf('Active', 'Revoked'))

export const ApiKeyInput = named(
  'CreateApiKey',
  Type.Object({
    name: requiredText(200),
    expiryDate: Type.Optional(Instant),
  }),
)

const RequestsPerMinute = Type.Integer({
  minimum: 1,
  maximum: 1_000_000,
  description: 'Model calls in a minute, instead of the gateway’s own limit',
})
const MonthlyBudget = Type.Number({
  minimum: 0,
  exclusiveMaximum: 1e9,
  description:
    'For gateway use in a month (UTC), in the platform’s currency; at most 9 digits before and 6 after the point',
})

/** Of the limits, null takes one away. */
export const ApiKeyChanges = named(
  'UpdateApiKey',
  Type.Partial(
    Type.Object({
      name: requiredText(200),
      expiryDate: Instant,
      requestsPerMinute: Type.Union([RequestsPerMinute, Type.Null()]),
      monthlyBudget: Type.Union([MonthlyBudget, Type.Null()]),
    }),
  ),
)

export const ApiKeyRotation = named(
  'RotateApiKey',
  Type.Object({
    overlapSeconds: Type.Integer({
      minimum: 0,
      maximum: 2_592_000,
      default: 86_400,
      description: 'How long the old value still works',
    }),
  }),
)

const core = {
  apiKeyId: Type.String(),
  spaceId: Type.String(),
  name: Type.String(),
  expiryDate: Timestamp,
  apiKeyArn: Type.String({ description: 'Masked: the last four characters of the key' }),
  status: KeyStatus,
  revokedAt: Type.Optional(Timestamp),
  lastUsedAt: Type.Optional(Timestamp),
  requestsPerMinute: Type.Optional(RequestsPerMinute),
  monthlyBudget: Type.Optional(MonthlyBudget),
  createdBy: Actor,
  modifiedBy: Actor,
  createdAt: Timestamp,
  updatedAt: Timestamp,
}

export const ApiKey = named('ApiKey', Type.Object(core))
export const CreatedApiKey = named(
  'CreatedApiKey',
  Type.Object({
    ...core,
    apiKeyValue: Type.String({ description: 'The key itself; it is shown this once' }),
  }),
)

export const RotatedApiKey = named(
  'RotatedApiKey',
  Type.Object({
    ...CreatedApiKey.properties,
    formerValidUntil: Type.String({ format: 'date-time', description: 'When the old value stops working' }),
  }),
)

export const ApiKeyQuery = Type.Object({
  ...pageQuery(
    'apiKeyId',
    'spaceId',
    'name',
    'expiryDate',
    'apiKeyArn',
    'status',
    'revokedAt',
    'lastUsedAt',
    'requestsPerMinute',
    'monthlyBudget',
    'createdAt',
    'updatedAt',
  ).properties,
  status: Type.Optional(KeyStatus),
})
export const ApiKeyList = listOf('ApiKeyPage', ApiKey)
export const ApiKeyParams = Type.Object({ spaceId: Type.String(), apiKeyId: Uuid })
/** Where a space id of another form is refused with 400 (access.ts). */
export const KnownApiKeyParams = Type.Object({ spaceId: Uuid, apiKeyId: Uuid })

export type ApiKeyChanges = Static<typeof ApiKeyChanges>
export type ApiKeyQuery = Static<typeof ApiKeyQuery>
