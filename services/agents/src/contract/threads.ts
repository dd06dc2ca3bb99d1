import { named } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { AnyObject, ListQuery, oneOf, Timestamp } from './common.ts'

export const ThreadStatus = named('ThreadStatus', oneOf('open', 'archived', 'completed'))

export const ThreadParams = Type.Object({
  spaceId: Type.String(),
  agentId: Type.String(),
  threadId: Type.String(),
})

export const ThreadInput = named(
  'ThreadInput',
  Type.Object({
    title: Type.Optional(Type.String({ maxLength: 4096 })),
    status: Type.Optional(ThreadStatus),
    metadata: Type.Optional(AnyObject),
  }),
)

export const ThreadListQuery = Type.Object({
  ...ListQuery.properties,
  status: Type.Optional(ThreadStatus),
})

export const Thread = named(
  'Thread',
  Type.Object({
    threadId: Type.String(),
    title: Type.Optional(Type.String()),
    spaceId: Type.String(),
    agentId: Type.String(),
    status: ThreadStatus,
    metadata: AnyObject,
    createdAt: Timestamp,
    updatedAt: Timestamp,
    lastMessageAt: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      format: 'date-time',
      description: 'When its newest message was created; null while it has none',
    }),
  }),
)

export type Thread = Static<typeof Thread>
export type ThreadInput = Static<typeof ThreadInput>
export type ThreadListQuery = Static<typeof ThreadListQuery>
