import { named, requiredText, textLike } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { Actor, Timestamp, Uuid } from './common.ts'
import { ArrayQuery } from './spaces.ts'

const Namespace = textLike(
  '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
  'be an RFC 1123 label: small letters, digits and inner hyphens',
  {
    minLength: 1,
    maxLength: 63,
    description: 'RFC 1123 label',
  },
)
const Region = textLike('^[a-z]{2}(-[a-z]+)+-[1-9][0-9]?$', 'be a region, like eu-central-1', {
  maxLength: 64,
  examples: ['eu-central-1'],
})

export const WorkspaceInput = named(
  'CreateWorkspace',
  Type.Object({
    region: Region,
    clusterName: requiredText(128),
    namespaceName: Namespace,
  }),
)

export const WorkspaceChanges = named('UpdateWorkspace', Type.Partial(WorkspaceInput))

const core = {
  workspaceId: Type.String(),
  spaceId: Type.String(),
  region: Type.String(),
  clusterName: Type.String(),
  namespaceName: Type.String(),
}

export const WorkspaceCore = named('WorkspaceSummary', Type.Object(core))
export const Workspace = named(
  'Workspace',
  Type.Object({
    ...core,
    createdBy: Actor,
    modifiedBy: Actor,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  }),
)

export const WorkspaceQuery = Type.Object({
  ...ArrayQuery.properties,
  namespaceName: Type.Optional(Type.String({ maxLength: 200 })),
})
export const WorkspaceParams = Type.Object({ spaceId: Type.String(), mkflwworkspaceId: Uuid })
/** Where a space id of another form is refused with 400 (access.ts). */
export const KnownWorkspaceParams = Type.Object({ spaceId: Uuid, mkflwworkspaceId: Uuid })

export type WorkspaceInput = Static<typeof WorkspaceInput>
export type WorkspaceChanges = Static<typeof WorkspaceChanges>
