import { named } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { Identifier, listOf, Timestamp } from './common.ts'

/** What a name in a reference looks like, so that each key can be referred to. */
export const REFERENCE_NAME = '[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}'
export const REFERENCE_NAME_MUST =
  'be 1 to 128 letters, digits, underscores, dots and hyphens, and begin with none of the last two'

const Data = Type.Record(Type.String(), Type.String(), {
  propertyNames: {
    type: 'string',
    pattern: `^${REFERENCE_NAME}$`,
    'x-must': `be another key: keys are ${REFERENCE_NAME_MUST.slice('be '.length)}`,
  },
  description:
    'Values of `${config.KEY}`. Everybody in the space reads them: what must stay secret is a secret',
})

export const ConfigurationParams = Type.Object({
  spaceId: Type.String(),
  workflowId: Type.String(),
  configurationId: Type.String(),
})
export const ConfigurationCreationParams = Type.Object({
  ...ConfigurationParams.properties,
  configurationId: Identifier,
})

export const ConfigurationInput = named('PutConfiguration', Type.Object({ data: Data }))

export const Configuration = named(
  'Configuration',
  Type.Object({
    configurationId: Type.String(),
    workflowId: Type.String(),
    data: Type.Record(Type.String(), Type.String()),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  }),
)

export const ConfigurationList = listOf('ConfigurationList', Configuration)

export type Configuration = Static<typeof Configuration>
