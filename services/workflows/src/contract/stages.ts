import { named } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { Stage, Timestamp } from './common.ts'

export const StageParams = Type.Object({
  spaceId: Type.String(),
  workflowId: Type.String(),
  stage: Type.String(),
})
export const StageAssignmentParams = Type.Object({ ...StageParams.properties, stage: Stage })

export const StageInput = named(
  'PutStageAssignment',
  Type.Object({
    versionId: Type.String(),
    configurationId: Type.Optional(
      Type.Union([Type.String(), Type.Null()], { description: 'Null or absent: none is bound' }),
    ),
  }),
)

export const StageAssignment = named(
  'StageAssignment',
  Type.Object({
    workflowId: Type.String(),
    stage: Stage,
    versionId: Type.String(),
    configurationId: Type.Union([Type.String(), Type.Null()]),
    assignedAt: Timestamp,
    assignedBy: Type.Union([Type.String(), Type.Null()], {
      description: 'Id of the person or client who assigned it',
    }),
  }),
)

export const StageAssignmentList = named(
  'StageAssignmentList',
  Type.Object({ items: Type.Array(StageAssignment), totalCount: Type.Integer() }),
)

export type StageInput = Static<typeof StageInput>
export type StageAssignment = Static<typeof StageAssignment>
