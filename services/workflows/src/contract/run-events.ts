import { jsonText, named, textLike } from '@atrium/kernel/http'
import Type from 'typebox'
import { RunMoment, RunStatus, TaskStatus } from './runs.ts'

const common = { attempt: Type.Integer(), message: Type.String() }

const RunChanged = named(
  'RunChanged',
  Type.Object({
    status: RunStatus,
    ...common,
    startedAt: Type.Optional(RunMoment),
    completedAt: Type.Optional(RunMoment),
  }),
)

const TaskChanged = named(
  'TaskChanged',
  Type.Object({
    name: Type.String(),
    status: TaskStatus,
    ...common,
    startedAt: RunMoment,
    completedAt: RunMoment,
  }),
)

/** A change of a run or of one of its tasks. */
export const RunEvent = named(
  'RunEvent',
  Type.Union([
    Type.Object({ id: Type.String(), event: Type.Literal('run'), data: jsonText(RunChanged) }),
    Type.Object({ id: Type.String(), event: Type.Literal('task'), data: jsonText(TaskChanged) }),
    Type.Object({ retry: Type.String() }),
  ]),
)

export const RunEventHeaders = Type.Object({
  'last-event-id': Type.Optional(
    textLike('^[0-9]{1,15}$', 'be the id of an event', { description: 'Events after this one alone' }),
  ),
})
