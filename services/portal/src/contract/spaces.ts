import { named, PartQuery, pageQuery, requiredText } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { Actor, listOf, optionalText, Timestamp, Uuid } from './common.ts'

export const SpaceInput = named(
  'CreateSpace',
  Type.Object({
    spaceName: requiredText(200),
    appId: requiredText(128),
    description: optionalText(4000),
    itsmServiceOffering: optionalText(200),
  }),
)

export const SpaceChanges = named('UpdateSpace', Type.Partial(SpaceInput))

const core = {
  spaceId: Type.String(),
  spaceName: Type.String(),
  appId: Type.String(),
  description: Type.String(),
  itsmServiceOffering: Type.String(),
  createdAt: Timestamp,
}

export const Space = named('Space', Type.Object(core))

export const SpaceDetail = named(
  'SpaceDetail',
  Type.Object({
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
  }),
)

export const DeletedSpace = named(
  'DeletedSpace',
  Type.Object({
    ...core,
    deletedAt: Timestamp,
    deletedBy: Actor,
    removedAfter: Type.String({
      format: 'date-time',
      description: 'Until then it can be brought back; then its data is removed',
    }),
  }),
)
export const DeletedSpaceList = listOf('DeletedSpacePage', DeletedSpace)
/** Not `spaceId`: to the guard, a deleted space is one that does not exist. */
export const DeletedSpaceQuery = pageQuery(
  'spaceId',
  'spaceName',
  'appId',
  'description',
  'itsmServiceOffering',
  'createdAt',
  'deletedAt',
  'removedAfter',
)
export const DeletedSpaceParams = Type.Object({ deletedSpaceId: Uuid })

/** Of lists that come as bare arrays: everything in creation order, or one page of it. */
export const ArrayQuery = PartQuery

export type SpaceInput = Static<typeof SpaceInput>
export type SpaceChanges = Static<typeof SpaceChanges>
