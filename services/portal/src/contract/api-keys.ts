import { PageQuery, Pagination } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { Actor, oneOf, requiredText, Timestamp, Uuid } from './common.ts'

const KeyStatus = oneOf('Active', 'Revoked')

export const ApiKeyInput = Type.Object({
  name: requiredText(200),
  expiryDate: Type.Optional(Type.String({ format: 'date-time', maxLength: 40 })),
})

const core = {
  apiKeyId: Type.String(),
  spaceId: Type.String(),
  name: Type.String(),
  expiryDate: Timestamp,
  apiKeyArn: Type.String({ description: 'Masked: the last four characters of the key' }),
  status: KeyStatus,
  revokedAt: Type.Optional(Timestamp),
  lastUsedAt: Type.Optional(Timestamp),
  createdBy: Actor,
  modifiedBy: Actor,
  createdAt: Timestamp,
  updatedAt: Timestamp,
}

export const ApiKey = Type.Object(core)
export const CreatedApiKey = Type.Object({
  ...core,
  apiKeyValue: Type.String({ description: 'The key itself; it is shown this once' }),
})

export const ApiKeyQuery = Type.Object({ ...PageQuery.properties, status: Type.Optional(KeyStatus) })
export const ApiKeyList = Type.Object({ data: Type.Array(ApiKey), pagination: Pagination })
export const ApiKeyParams = Type.Object({ spaceId: Type.String(), apiKeyId: Uuid })

export type ApiKeyQuery = Static<typeof ApiKeyQuery>
