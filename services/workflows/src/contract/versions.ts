import type { Readable } from 'node:stream'
import { named } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { Identifier, Timestamp } from './common.ts'

const TextMap = Type.Record(Type.String(), Type.String())

export const TemplateRef = named(
  'TemplateRef',
  Type.Object({
    name: Type.String({ examples: ['run-python-code'] }),
    version: Type.String({
      description: '`v1` and `v1.2` float to the newest release; `v1.2.3` is that release',
      examples: ['v1'],
    }),
  }),
)

const taskFields = {
  name: Type.String({
    description: 'Unique in its version; letters, digits and hyphens',
    examples: ['train'],
  }),
  templateRef: TemplateRef,
}
const ARGUMENTS = 'By name; values may contain `${config.KEY}` and `${secret.NAME}`; `$${` stands for `${`'
const DEPENDENCIES = 'Names of tasks that must have succeeded before'

export const TaskInput = named(
  'PutTask',
  Type.Object({
    ...taskFields,
    arguments: Type.Optional({ ...TextMap, description: ARGUMENTS }),
    dependencies: Type.Optional(Type.Array(Type.String(), { description: DEPENDENCIES })),
  }),
)

export const Task = named(
  'Task',
  Type.Object({
    ...taskFields,
    arguments: { ...TextMap, description: ARGUMENTS },
    dependencies: Type.Array(Type.String(), { description: DEPENDENCIES }),
  }),
)

export const VersionParams = Type.Object({
  spaceId: Type.String(),
  workflowId: Type.String(),
  versionId: Type.String(),
})
export const VersionCreationParams = Type.Object({ ...VersionParams.properties, versionId: Identifier })

export const VersionInput = named('PutVersion', Type.Object({ tasks: Type.Array(TaskInput) }))

/** Anything goes in: what is wrong is what comes out. */
export const VersionDraft = named(
  'ValidateVersion',
  Type.Object({
    tasks: Type.Array(Type.Unknown(), {
      description: 'Tasks as of `PutVersion`; faults are told in the answer',
    }),
  }),
)

export const Version = named(
  'Version',
  Type.Object({
    workflowId: Type.String(),
    versionId: Type.String(),
    tasks: Type.Array(Task),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  }),
)

export const VersionPage = Type.Unsafe<Readable>(
  named(
    'VersionPage',
    Type.Object({
      versions: Type.Array(Version),
      nextPageToken: Type.String({ description: 'Empty on the last page' }),
      totalSize: Type.Integer(),
    }),
  ),
)

export const Validation = named(
  'Validation',
  Type.Object({
    valid: Type.Boolean(),
    errors: Type.Array(Type.String(), { description: 'Every fault that was found, each naming its task' }),
  }),
)

const TemplateArgument = named(
  'TaskTemplateArgument',
  Type.Object({
    name: Type.String(),
    required: Type.Boolean(),
    description: Type.String(),
    secrets: Type.Unsafe<'no' | 'within' | 'only'>({
      type: 'string',
      enum: ['no', 'within', 'only'],
      description: 'Whether `${secret.NAME}` may stand in the value, or must be all of it',
    }),
  }),
)

export const TaskTemplate = named(
  'TaskTemplate',
  Type.Object({
    name: Type.String(),
    version: Type.String({ description: 'The exact release, `v1.2.3`' }),
    aliases: Type.Array(Type.String(), { description: 'Floating forms that stand for it now' }),
    description: Type.String(),
    arguments: Type.Array(TemplateArgument),
    oneOf: Type.Optional(
      Type.Array(Type.String(), { description: 'Arguments of which exactly one must be given' }),
    ),
  }),
)

export const TaskTemplateList = named(
  'TaskTemplateList',
  Type.Object({ items: Type.Array(TaskTemplate), totalCount: Type.Integer() }),
)

export type Version = Static<typeof Version>
export type TaskTemplate = Static<typeof TaskTemplate>
