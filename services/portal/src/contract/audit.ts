import { named, PartQuery } from '@atrium/kernel/http'
import Type from 'typebox'
import { Instant, listOf, oneOf, Timestamp } from './common.ts'

const Image = Type.Unsafe<Record<string, unknown> | null>({
  type: ['object', 'null'],
  additionalProperties: true,
  description: 'Secrets and hashes are masked',
})

export const AuditEntry = named(
  'AuditEntry',
  Type.Object({
    auditId: Type.String(),
    at: Timestamp,
    actor: Type.Object({
      kind: oneOf('user', 'client', 'key', 'system'),
      id: Type.String(),
      name: Type.String(),
    }),
    operation: Type.String({ examples: ['updateSpace'] }),
    spaceId: Type.Union([Type.String(), Type.Null()]),
    resourceType: Type.String({ examples: ['api-key'] }),
    resourceId: Type.String(),
    before: Image,
    after: Image,
    origin: Type.Object({ address: Type.String(), requestId: Type.String(), userAgent: Type.String() }),
  }),
)

export const AuditQuery = Type.Object({
  ...PartQuery.properties,
  operation: Type.Optional(Type.String({ maxLength: 100 })),
  actor: Type.Optional(Type.String({ maxLength: 128, description: 'QX id, client id or key id' })),
  resourceId: Type.Optional(Type.String({ maxLength: 128 })),
  from: Type.Optional(Instant),
  to: Type.Optional(Instant),
})

export const AuditList = listOf('AuditEntryPage', AuditEntry)
