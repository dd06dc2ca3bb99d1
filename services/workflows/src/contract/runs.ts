import type { Readable } from 'node:stream'
import { named, optionalBody, textLike } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { Identifier, oneOf, PagedQuery, Stage, Timestamp } from './common.ts'

export const RunStatus = named(
  'RunStatus',
  oneOf('Pending', 'Running', 'Succeeded', 'Failed', 'Cancelling', 'Cancelled'),
)

export const TaskStatus = named(
  'TaskStatus',
  oneOf('Pending', 'Running', 'Succeeded', 'Failed', 'Skipped', 'Cancelled'),
)

export const RunMoment = Type.Union([Timestamp, Type.Null()])

const RunTask = named(
  'RunTask',
  Type.Object({
    name: Type.String(),
    status: TaskStatus,
    attempt: Type.Integer({ description: 'Attempt of the run that it was last started in, or waits in' }),
    startedAt: RunMoment,
    completedAt: RunMoment,
    message: Type.String(),
    dependencies: Type.Array(Type.String()),
  }),
)

const fields = {
  workflowId: Type.String(),
  runId: Type.String(),
  stage: Stage,
  versionId: Type.String(),
  configurationId: Type.Union([Type.String(), Type.Null()], {
    description: 'The persisted configuration of highest priority that gave a value; null when none did',
  }),
  triggerId: Type.Union([Type.String(), Type.Null()], { description: 'The trigger that started it' }),
  status: RunStatus,
  attempt: Type.Integer({ description: 'Grows with each retry' }),
  createdBy: Type.String(),
  createdAt: Timestamp,
  startedAt: RunMoment,
  completedAt: RunMoment,
  message: Type.String({ description: 'How far it is, for people' }),
  tasks: Type.Array(RunTask),
}

export const ListedRun = named('ListedRun', Type.Object(fields))

export const Run = named(
  'Run',
  Type.Object({
    ...fields,
    resolvedConfiguration: Type.Record(Type.String(), Type.String(), {
      description: 'The values that the run has, as they were when it was made',
    }),
  }),
)

export const RunPage = Type.Unsafe<Readable>(
  named(
    'RunPage',
    Type.Object({
      runs: Type.Array(ListedRun),
      nextPageToken: Type.String({ description: 'Empty on the last page' }),
      totalSize: Type.Integer({ description: 'Runs that the filters let through, on all pages' }),
    }),
  ),
)

export const RunParams = Type.Object({
  spaceId: Type.String(),
  workflowId: Type.String(),
  runId: Type.String(),
})

export const RunQuery = Type.Object({
  stage: Stage,
  versionId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 63,
      description: 'The version assigned to the stage when absent',
    }),
  ),
})

export const RunListQuery = Type.Object({
  ...PagedQuery.properties,
  status: Type.Optional(RunStatus),
  versionId: Type.Optional(Type.String({ maxLength: 63 })),
  stage: Type.Optional(Stage),
})

/** A value of a configuration has no bound of its own, but all of it is at most 1 MiB. */
export const RunInput = named(
  'CreateRun',
  Type.Object({
    configuration: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: 'Values for this run alone; they go before those of any configuration on record',
        maxProperties: 10_000,
      }),
    ),
    configurationId: Type.Optional(Identifier),
  }),
)

export const OptionalRunInput = optionalBody(RunInput)

export const OnceHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    textLike('^[\\x20-\\x7e]{1,255}$', 'be 1 to 255 printable ASCII characters', {
      description: 'Requests with the same key have one effect, for 24 hours',
    }),
  ),
})

export type Run = Static<typeof Run>
export type ListedRun = Static<typeof ListedRun>
