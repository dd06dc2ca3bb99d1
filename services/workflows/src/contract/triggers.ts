import { named } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { Identifier, listOf, oneOf, Stage, Timestamp } from './common.ts'
import { RunStatus } from './runs.ts'

const TriggerType = named('TriggerType', oneOf('webhook', 'schedule'))

const Schedule = Type.String({
  description: 'Cron: minute, hour, day of the month, month, weekday (0-7, 0 and 7 are Sunday)',
  examples: ['30 2 * * 1-5'],
})
const Timezone = Type.String({ description: 'Name of an IANA time zone', examples: ['Europe/Berlin'] })
const SignatureValidation = Type.Boolean({
  description: 'Whether calls of a webhook must carry X-Signature-256',
})

export const TriggerInput = named(
  'PutTrigger',
  Type.Object({
    type: TriggerType,
    stage: Stage,
    enabled: Type.Optional(Type.Boolean({ default: true })),
    config: Type.Optional(
      Type.Object({
        signatureValidation: Type.Optional(SignatureValidation),
        schedule: Type.Optional(Type.Union([Schedule, Type.Null()])),
        timezone: Type.Optional(Timezone),
      }),
    ),
  }),
)

export const Trigger = named(
  'Trigger',
  Type.Object({
    workflowId: Type.String(),
    triggerId: Type.String(),
    type: TriggerType,
    stage: Stage,
    enabled: Type.Boolean(),
    config: Type.Object({
      signatureValidation: SignatureValidation,
      schedule: Type.Optional(Schedule),
      timezone: Timezone,
    }),
    webhookUrl: Type.Optional(
      Type.String({ description: 'In the answer that made the secret, and in no other: keep it' }),
    ),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  }),
)

export const TriggerList = listOf('TriggerList', Trigger)

export const TriggerParams = Type.Object({
  spaceId: Type.String(),
  workflowId: Type.String(),
  triggerId: Type.String(),
})
export const TriggerCreationParams = Type.Object({ ...TriggerParams.properties, triggerId: Identifier })

export const WebhookParams = Type.Object({ webhookSecret: Type.String() })

export const WebhookHeaders = Type.Object({
  'x-signature-256': Type.Optional(
    Type.String({
      description: '`sha256=` and the HMAC-SHA256 of the raw body under the secret, in hex',
    }),
  ),
})

export const WebhookRun = named(
  'WebhookRun',
  Type.Object({ workflowId: Type.String(), runId: Type.String(), status: RunStatus }),
)

export type TriggerInput = Static<typeof TriggerInput>
export type Trigger = Static<typeof Trigger>
