import Type, { type Static } from 'typebox'
import { Actor, optionalText, requiredText, Timestamp } from './common.ts'

export const SpaceInput = Type.Object({
  spaceName: requiredText(200),
  appId: requiredText(128),
  description: optionalText(4000),
  itsmServiceOffering: optionalText(200),
})

export const SpaceChanges = Type.Partial(SpaceInput)

const core = {
  spaceId: Type.String(),
  spaceName: Type.String(),
  appId: Type.String(),
  description: Type.String(),
  itsmServiceOffering: Type.String(),
  createdAt: Timestamp,
}

export const Space = Type.Object(core)

export const SpaceDetail = Type.Object({
  ...core,
  createdBy: Actor,
  modifiedBy: Actor,
  user: Type.Object(
    { role: Type.String(), superuser: Type.Boolean() },
    { description: 'The caller here; role is owner, member or none' },
  ),
  userCount: Type.Integer(),
  kubeflowPipelinesCount: Type.Integer(),
  apiKeysCount: Type.Integer(),
  cdhCount: Type.Integer(),
})

/** Of lists that come as bare arrays: everything in creation order, or one page of it. */
export const ArrayQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
})

export type SpaceInput = Static<typeof SpaceInput>
export type SpaceChanges = Static<typeof SpaceChanges>
