import type { Readable } from 'node:stream'
import { named, Pagination, pageQuery, requiredText } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { AnyObject, Author, ListQuery, type Page, Timestamp } from './common.ts'

/** What a model is asked with unless a call says otherwise. Other keys are ignored. */
export const DefaultParameters = named(
  'ModelParameters',
  Type.Object({
    temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
    max_tokens: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
    top_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    frequency_penalty: Type.Optional(Type.Number({ minimum: -2, maximum: 2 })),
    presence_penalty: Type.Optional(Type.Number({ minimum: -2, maximum: 2 })),
  }),
)

const fields = {
  name: requiredText(512),
  instructions: Type.String(),
  description: Type.String(),
  outputFormat: requiredText(128),
}

const options = {
  defaultParameters: Type.Optional(DefaultParameters),
  metadata: Type.Optional(AnyObject),
}

const ModelName = Type.String({ minLength: 1, maxLength: 256, description: 'One of `GET /v1/models`' })

export const AgentParams = Type.Object({ spaceId: Type.String(), agentId: Type.String() })
export const AgentCreationQuery = Type.Object({ model: ModelName })
export const AgentInput = named('CreateAgent', Type.Object({ ...fields, createdBy: Author, ...options }))

export const AgentChanges = named(
  'UpdateAgent',
  Type.Object({
    ...Type.Partial(Type.Object({ ...fields, model: ModelName, updatedBy: Author })).properties,
    ...options,
  }),
)

export const CreatedAgent = named(
  'CreatedAgent',
  Type.Object({ agentId: Type.String(), spaceId: Type.String() }),
)

export const Agent = named(
  'Agent',
  Type.Object({
    agentId: Type.String(),
    spaceId: Type.String(),
    name: Type.String(),
    instructions: Type.String(),
    description: Type.String(),
    model: Type.String(),
    provider: Type.String(),
    outputFormat: Type.String(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    createdBy: Author,
    updatedBy: Type.Optional(Author),
    defaultParameters: DefaultParameters,
    metadata: AnyObject,
  }),
)

export const AgentListQuery = pageQuery(
  'agentId',
  'name',
  'instructions',
  'description',
  'model',
  'provider',
  'outputFormat',
  'createdAt',
  'updatedAt',
)
export const AgentPage = Type.Unsafe<Page<Static<typeof Agent>> | Readable>(
  named('AgentPage', Type.Object({ data: Type.Array(Agent), pagination: Pagination })),
)
export const AgentPageQuery = ListQuery

export type Agent = Static<typeof Agent>
export type AgentInput = Static<typeof AgentInput>
export type AgentChanges = Static<typeof AgentChanges>
export type AgentListQuery = Static<typeof AgentListQuery>
export type DefaultParameters = Static<typeof DefaultParameters>
