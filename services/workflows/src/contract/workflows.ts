import { named, requiredText } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { Identifier, listOf, Timestamp } from './common.ts'

const ParallelRuns = Type.Union([Type.Integer({ minimum: 1, maximum: 1000 }), Type.Null()], {
  description: 'Runs at once, further ones wait; null: as many as the space may have',
})

export const WorkflowCreationParams = Type.Object({ spaceId: Type.String(), workflowId: Identifier })

export const WorkflowInput = named(
  'PutWorkflow',
  Type.Object({ name: requiredText(256), maxParallelRuns: Type.Optional(ParallelRuns) }),
)

export const Workflow = named(
  'Workflow',
  Type.Object({
    spaceId: Type.String(),
    workflowId: Type.String(),
    name: Type.String(),
    maxParallelRuns: ParallelRuns,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  }),
)

export const WorkflowList = listOf('WorkflowList', Workflow)

export type Workflow = Static<typeof Workflow>
export type WorkflowInput = Static<typeof WorkflowInput>
