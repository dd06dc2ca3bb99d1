import { AppError } from '@atrium/kernel/errors'
import Type, { type Static, type TSchema } from 'typebox'
import { Identifier, STAGES } from '../contract/common.ts'
import { ConfigurationInput } from '../contract/configurations.ts'
import { StageInput } from '../contract/stages.ts'
import { TriggerInput } from '../contract/triggers.ts'
import { TaskInput, VersionInput } from '../contract/versions.ts'
import { WorkflowInput } from '../contract/workflows.ts'
import { demandSchedule } from './schedule/cron.ts'
import { TEMPLATES, VERSION_FORM } from './templates/registry.ts'
import type { TemplateRelease } from './templates/template.ts'

/**
 * The file that describes a workflow, for `atrium workflow`: ids, and below them the bodies of the operations as they
 * are. It is made from the contract and the registry of templates, so it says what this platform takes.
 */

/** A schema that knows all its fields: a name in a file that says nothing is a mistake. */
function closed<S extends TSchema>(schema: S): S {
  const { properties, required, ...rest } = schema as TSchema & {
    properties?: Record<string, TSchema>
    required?: string[]
  }
  if (properties === undefined) return schema
  const inner = Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, closed(one)]))
  return {
    ...rest,
    ...(required === undefined ? {} : { required }),
    properties: inner,
    additionalProperties: false,
  } as unknown as S
}

/** Things by their ids; none where the file says nothing. */
const byId = <S extends TSchema>(item: S, description: string) =>
  Type.Unsafe<Record<string, Static<S>>>({
    type: 'object',
    description,
    propertyNames: Identifier,
    additionalProperties: item,
    default: {},
  })

function fileSchema<V extends TSchema, D extends TSchema>(version: V, data: D) {
  const { name, maxParallelRuns } = WorkflowInput.properties
  return Type.Object(
    {
      id: { ...Identifier, description: 'Id of the workflow in its space' },
      name,
      maxParallelRuns,
      versions: byId(version, 'Versions by id; those that the file no longer names stay on the platform'),
      configurations: byId(data, 'Configurations by id: what `${config.KEY}` stands for'),
      stages: Type.Unsafe<Partial<Record<(typeof STAGES)[number], Static<typeof StageInput>>>>({
        type: 'object',
        description: 'Which version and configuration a stage has; leave out those that are promoted to',
        properties: Object.fromEntries(STAGES.map((stage) => [stage, closed(StageInput)])),
        additionalProperties: false,
        default: {},
      }),
      triggers: byId(closed(TriggerInput), 'What starts runs by itself, by id'),
    },
    { additionalProperties: false, required: ['id', 'name'] },
  )
}

/** All but the tasks, which the platform checks by itself and tells more about. */
export const checkedFileSchema = fileSchema(
  Type.Unsafe<Static<typeof VersionInput>>({
    type: 'object',
    properties: { tasks: { type: 'array' } },
    required: ['tasks'],
    additionalProperties: false,
  }),
  ConfigurationInput.properties.data,
)

export type WorkflowFile = Static<typeof checkedFileSchema>

/** What is wrong with when a trigger fires, by the field of its `config`. What is no text is for the schema to refuse. */
export function faultsOfSchedule(config: unknown): { readonly field: string; readonly reason: string }[] {
  const { schedule, timezone = 'UTC' } = (config ?? {}) as { schedule?: unknown; timezone?: unknown }
  if (schedule === undefined || schedule === null) return [{ field: 'schedule', reason: 'is required' }]
  const now = new Date()
  const check = (cron: unknown, zone: unknown) => {
    try {
      if (typeof cron === 'string' && typeof zone === 'string') demandSchedule({ cron, timezone: zone }, now)
      return []
    } catch (error) {
      if (!(error instanceof AppError) || error.field === undefined) throw error
      const reason = error.message.slice(`${error.field} `.length)
      return [{ field: error.field.split('.').at(-1) ?? '', reason }]
    }
  }
  return [...check(schedule, 'UTC'), ...check('* * * * *', timezone)]
}

/** What may stand for a text in a file. */
const WRITTEN = { type: ['string', 'number', 'boolean'] }
/** What may stand for a text that is JSON. */
const WRITTEN_JSON = { type: ['string', 'object'] }

/** Whether an argument's text is JSON, so that a mapping may stand for it; false where there is no such argument. */
export const isJsonArgument = (template: string, name: string): boolean =>
  TEMPLATES.get(template)?.some((release) =>
    release.arguments.some((one) => one.name === name && one.isJson === true),
  ) ?? false

/** The JSON Schema for editors. */
export function workflowFileSchema(): Record<string, unknown> {
  const data = {
    ...ConfigurationInput.properties.data,
    patternProperties: undefined,
    additionalProperties: WRITTEN,
  }
  const version = closed(VersionInput)
  const schema = fileSchema(
    { ...version, properties: { tasks: { ...version.properties.tasks, items: taskSchema() } } } as TSchema,
    data as TSchema,
  )
  return withoutOwnWords({
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Workflow of Atrium',
    ...schema,
  })
}

/** A task: which arguments there are is known by its template. */
function taskSchema(): Record<string, unknown> {
  const { properties, ...rest } = closed(TaskInput) as unknown as Record<string, object> & {
    properties: Record<string, Record<string, unknown>>
  }
  const { name, version } = (properties.templateRef as { properties: Record<string, object> }).properties
  return {
    ...rest,
    properties: {
      ...properties,
      templateRef: {
        ...properties.templateRef,
        properties: {
          name: { ...name, enum: [...TEMPLATES.keys()] },
          version: { ...version, pattern: VERSION_FORM.source },
        },
      },
      arguments: { ...properties.arguments, patternProperties: undefined },
    },
    allOf: [...TEMPLATES].map(([template, releases]) => ({
      if: {
        properties: { templateRef: { properties: { name: { const: template } }, required: ['name'] } },
        required: ['templateRef'],
      },
      // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema
      then: { properties: { arguments: argumentsSchema(releases) }, required: ['arguments'] },
    })),
  }
}

/** Arguments of any release: which of them one release has is for the platform to say. */
function argumentsSchema(releases: readonly TemplateRelease[]): Record<string, unknown> {
  const [newest] = releases
  // The newest release comes first, and its words are kept.
  const all = new Map(releases.toReversed().flatMap((one) => one.arguments.map((spec) => [spec.name, spec])))
  const required = newest?.arguments.filter(({ name }) =>
    releases.every((one) => one.arguments.some((spec) => spec.name === name && spec.required)),
  )
  return {
    description: newest?.description,
    properties: Object.fromEntries(
      [...all.values()].map(({ name, description, isJson }) => [
        name,
        { ...(isJson === true ? WRITTEN_JSON : WRITTEN), description },
      ]),
    ),
    required: required?.map(({ name }) => name) ?? [],
    additionalProperties: false,
  }
}

/** Words of our own mean nothing to editors. */
function withoutOwnWords(schema: Record<string, unknown>): Record<string, unknown> {
  const plain: unknown = JSON.parse(
    JSON.stringify(schema, (key, value: unknown) => (key.startsWith('x-') ? undefined : value)),
  )
  return plain as Record<string, unknown>
}
