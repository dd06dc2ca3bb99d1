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

const Id = Type.String()

const RunChangedEvent = named(
  'RunChangedEvent',
  Type.Object({
    id: Id,
    event: Type.Unsafe<'run'>({ type: 'string', const: 'run' }),
    data: jsonText(RunChanged),
  }),
)

const TaskChangedEvent = named(
  'TaskChangedEvent',
  Type.Object({
    id: Id,
    event: Type.Unsafe<'task'>({ type: 'string', const: 'task' }),
    data: jsonText(TaskChanged),
  }),
)

/** When to come again after a break. */
const RetryEvent = named('RetryEvent', Type.Object({ retry: Type.String() }))

/** A change of a run or of one of its tasks. */
export const RunEvent = named('RunEvent', Type.Union([RunChangedEvent, TaskChangedEvent, RetryEvent]))

export const RunEventHeaders = Type.Object({
  'last-event-id': Type.Optional(
    textLike('^[0-9]{1,15}$', 'be the id of an event', { description: 'Events after this one alone' }),
  ),
})
