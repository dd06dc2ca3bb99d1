import { named } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { AnyObject, type JsonObject, ListQuery, oneOf, Timestamp } from './common.ts'

export const MessageRole = named('MessageRole', oneOf('user', 'assistant', 'system', 'tool'))

export type ContentPart = JsonObject & { readonly type: string }

/** Parts of text have `text`; parts of other types (an image's address, say) are kept as they are given. */
const ContentInput = Type.Unsafe<ContentPart[]>({
  type: 'array',
  minItems: 1,
  items: {
    title: 'MessagePartInput',
    type: 'object',
    required: ['type'],
    properties: { type: { type: 'string', minLength: 1, maxLength: 128 } },
    if: { properties: { type: { const: 'text' } } },
    // biome-ignore lint/suspicious/noThenProperty: JSON Schema's own word
    then: { properties: { text: { type: 'string' } }, required: ['text'] },
    additionalProperties: true,
    examples: [{ type: 'text', text: 'Hello' }],
  },
})

const Content = Type.Unsafe<ContentPart[]>({
  type: 'array',
  items: {
    title: 'MessagePart',
    type: 'object',
    required: ['type'],
    properties: { type: { type: 'string' } },
    additionalProperties: true,
  },
})

const Count = Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))

/** Tokens, as the model's answer counted them. */
export const Usage = named(
  'TokenUsage',
  Type.Object({ prompt_tokens: Count, completion_tokens: Count, total_tokens: Count }),
)

export const MessageParams = Type.Object({
  spaceId: Type.String(),
  agentId: Type.String(),
  threadId: Type.String(),
  messageId: Type.String(),
})

export const MessageInput = named(
  'CreateMessage',
  Type.Object({
    role: MessageRole,
    content: ContentInput,
    metadata: Type.Optional(AnyObject),
    model: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    usage: Type.Optional(Usage),
  }),
)

export const MessageChanges = named(
  'UpdateMessage',
  Type.Object({
    content: Type.Optional(ContentInput),
    metadata: Type.Optional(AnyObject),
  }),
)

export const MessageListQuery = Type.Object({ ...ListQuery.properties, role: Type.Optional(MessageRole) })

export const Message = named(
  'Message',
  Type.Object({
    messageId: Type.String(),
    spaceId: Type.String(),
    threadId: Type.String(),
    role: MessageRole,
    content: Content,
    metadata: AnyObject,
    model: Type.Optional(Type.String()),
    usage: Type.Optional(Usage),
    createdAt: Timestamp,
  }),
)

export type Message = Static<typeof Message>
export type MessageInput = Static<typeof MessageInput>
export type MessageChanges = Static<typeof MessageChanges>
export type MessageListQuery = Static<typeof MessageListQuery>
export type Usage = Static<typeof Usage>
