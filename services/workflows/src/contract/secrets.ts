import { named, textLike } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { listOf, Timestamp } from './common.ts'
import { REFERENCE_NAME, REFERENCE_NAME_MUST } from './configurations.ts'

export const SecretParams = Type.Object({ spaceId: Type.String(), name: Type.String() })
export const SecretCreationParams = Type.Object({
  spaceId: Type.String(),
  name: textLike(`^${REFERENCE_NAME}$`, REFERENCE_NAME_MUST),
})

export const SecretInput = named(
  'PutSecret',
  Type.Object({
    value: Type.String({
      minLength: 4,
      maxLength: 32_768,
      description: 'Never shown again; shorter ones could not be masked in logs without hiding ordinary text',
    }),
  }),
)

/** A secret without its value, which nobody reads back. */
export const Secret = named(
  'Secret',
  Type.Object({
    name: Type.String(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    updatedBy: Type.String({ description: 'Id of the person or client who wrote it last' }),
  }),
)

export const SecretList = listOf('SecretList', Secret)

export type Secret = Static<typeof Secret>
