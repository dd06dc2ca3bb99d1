import { named } from '@atrium/kernel/http'
import Type from 'typebox'
import { ArrayQuery } from './spaces.ts'

export const SpaceWorkflowsQuery = Type.Object({
  ...ArrayQuery.properties,
  clusterName: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
})

export const SpaceWithWorkflows = named(
  'SpaceWithWorkflows',
  Type.Object({
    spaceId: Type.String(),
    spaceName: Type.String(),
    description: Type.String(),
    appId: Type.String(),
    itsmServiceOffering: Type.String(),
    workspaces: Type.Array(
      named(
        'WorkflowWorkspace',
        Type.Object({
          workspaceId: Type.String(),
          clusterName: Type.String(),
          namespaceName: Type.String(),
          region: Type.String(),
        }),
      ),
    ),
  }),
)
