import { named, pageQuery, requiredText } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { Actor, listOf, oneOf, optionalText, Timestamp, Uuid } from './common.ts'

const Stage = named('CdhStage', oneOf('Dev', 'Int', 'Prod'))
const CdhType = named('CdhType', oneOf('Provider', 'UseCase'))

/** `cdhProviderId` is required where the type is Provider, `cdhUseCaseId` where it is UseCase. */
export const CdhLinkInput = named(
  'CreateCdhLink',
  Type.Object({
    cdhEnvAccountID: requiredText(128),
    name: requiredText(200),
    cdhType: CdhType,
    cdhHub: requiredText(128),
    cdhProviderId: optionalText(128),
    cdhUseCaseId: optionalText(128),
    stage: Stage,
  }),
)

export const CdhLinkChanges = named('UpdateCdhLink', Type.Partial(CdhLinkInput))

const core = {
  cdhWorkspaceId: Type.String(),
  cdhEnvAccountID: Type.String(),
  name: Type.String(),
  cdhType: CdhType,
  cdhHub: Type.String(),
  cdhProviderId: Type.String(),
  cdhUseCaseId: Type.String(),
  stage: Stage,
  spaceId: Type.String(),
  cdhLink: Type.String(),
}

export const CdhLinkCore = named('CdhLinkSummary', Type.Object(core))
export const CdhLink = named(
  'CdhLink',
  Type.Object({
    ...core,
    createdBy: Actor,
    modifiedBy: Actor,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  }),
)

export const CdhLinkQuery = Type.Object({
  ...pageQuery(
    'cdhWorkspaceId',
    'cdhEnvAccountID',
    'name',
    'cdhType',
    'cdhHub',
    'cdhProviderId',
    'cdhUseCaseId',
    'stage',
    'spaceId',
    'cdhLink',
    'createdAt',
    'updatedAt',
  ).properties,
  stage: Type.Optional(Stage),
  cdhType: Type.Optional(CdhType),
})
export const CdhLinkList = listOf('CdhLinkPage', CdhLink)
export const CdhLinkParams = Type.Object({ spaceId: Type.String(), cdhworkspaceId: Uuid })
/** Where a space id of another form is refused with 400 (access.ts). */
export const KnownCdhLinkParams = Type.Object({ spaceId: Uuid, cdhworkspaceId: Uuid })

export type CdhLinkInput = Static<typeof CdhLinkInput>
export type CdhLinkChanges = Static<typeof CdhLinkChanges>
export type CdhLinkQuery = Static<typeof CdhLinkQuery>
