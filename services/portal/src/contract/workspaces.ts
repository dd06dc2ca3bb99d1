import Type, { type Static } from 'typebox'
import { Actor, requiredText, Timestamp, Uuid } from './common.ts'
import { ArrayQuery } from './spaces.ts'

const Namespace = Type.String({
  minLength: 1,
  maxLength: 63,
  pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
  description: 'RFC 1123 label',
})
const Region = Type.String({
  pattern: '^[a-z]{2}(-[a-z]+)+-[1-9]\\d?$',
  maxLength: 64,
  examples: ['eu-central-1'],
})

export const WorkspaceInput = Type.Object({
  region: Region,
  clusterName: requiredText(128),
  namespaceName: Namespace,
})

export const WorkspaceChanges = Type.Partial(WorkspaceInput)

const core = {
  workspaceId: Type.String(),
  spaceId: Type.String(),
  region: Type.String(),
  clusterName: Type.String(),
  namespaceName: Type.String(),
}

export const WorkspaceCore = Type.Object(core)
export const Workspace = Type.Object({
  ...core,
  createdBy: Actor,
  modifiedBy: Actor,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

export const WorkspaceQuery = Type.Object({
  ...ArrayQuery.properties,
  namespaceName: Type.Optional(Type.String({ maxLength: 200 })),
})
export const WorkspaceParams = Type.Object({ spaceId: Type.String(), mkflwworkspaceId: Uuid })

export type WorkspaceInput = Static<typeof WorkspaceInput>
export type WorkspaceChanges = Static<typeof WorkspaceChanges>
