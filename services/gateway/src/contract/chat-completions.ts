import { jsonText, named, wholeOrEvents } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { nullable } from './common.ts'
import { GatewayError } from './errors.ts'

const anyObject = named('JsonObject', Type.Object({}))

export const ChatMessage = named(
  'ChatMessage',
  Type.Object({
    role: Type.String({ minLength: 1 }),
    content: nullable(Type.Union([Type.String(), Type.Array(anyObject)])),
    name: nullable(Type.String()),
    tool_calls: nullable(Type.Array(anyObject)),
    tool_call_id: nullable(Type.String()),
  }),
)

/** The fields that the gateway checks; all others go to the backend as they came. */
export const ChatCompletionRequest = named(
  'ChatCompletionRequest',
  Type.Object({
    model: Type.String({ minLength: 1, maxLength: 256 }),
    messages: Type.Array(ChatMessage, { minItems: 1 }),
    stream: nullable(Type.Boolean()),
    stream_options: nullable(
      named('StreamOptions', Type.Object({ include_usage: nullable(Type.Boolean()) })),
    ),
    temperature: nullable(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: nullable(Type.Number({ minimum: 0, maximum: 1 })),
    n: nullable(Type.Integer({ minimum: 1, maximum: 128 })),
    stop: nullable(Type.Union([Type.String(), Type.Array(Type.String())])),
    max_tokens: nullable(Type.Integer({ minimum: 1 })),
    max_completion_tokens: nullable(Type.Integer({ minimum: 1 })),
    presence_penalty: nullable(Type.Number({ minimum: -2, maximum: 2 })),
    frequency_penalty: nullable(Type.Number({ minimum: -2, maximum: 2 })),
    logit_bias: nullable(anyObject),
    logprobs: nullable(Type.Boolean()),
    top_logprobs: nullable(Type.Integer({ minimum: 0, maximum: 20 })),
    seed: nullable(Type.Integer()),
    tools: nullable(Type.Array(anyObject)),
    response_format: nullable(anyObject),
    parallel_tool_calls: nullable(Type.Boolean()),
    user: nullable(Type.String()),
    metadata: nullable(anyObject),
  }),
)
export type ChatCompletionRequest = Static<typeof ChatCompletionRequest>

const Usage = named(
  'CompletionUsage',
  Type.Object({
    prompt_tokens: Type.Integer(),
    completion_tokens: Type.Integer(),
    total_tokens: Type.Integer(),
  }),
)

/** The part of the answer that the gateway vouches for; backends add fields of their own. */
export const ChatCompletion = named(
  'ChatCompletion',
  Type.Object({
    id: Type.Optional(Type.String()),
    object: Type.String(),
    created: Type.Optional(Type.Number()),
    model: Type.String(),
    choices: Type.Array(
      named(
        'ChatChoice',
        Type.Object({
          index: Type.Integer(),
          finish_reason: Type.Union([Type.String(), Type.Null()]),
          message: Type.Object({
            role: Type.String(),
            content: Type.Optional(Type.Union([Type.String(), Type.Null()])),
          }),
        }),
      ),
    ),
    usage: Type.Optional(Usage),
  }),
)

/** The part of a chunk that the gateway vouches for; backends add fields of their own. */
const ChatCompletionChunk = named(
  'ChatCompletionChunk',
  Type.Object({
    id: Type.Optional(Type.String()),
    object: Type.String({ examples: ['chat.completion.chunk'] }),
    created: Type.Optional(Type.Number()),
    model: Type.String(),
    choices: Type.Array(
      named(
        'ChatChunkChoice',
        Type.Object({
          index: Type.Integer(),
          delta: named(
            'ChatDelta',
            Type.Object({
              role: Type.Optional(Type.String()),
              content: nullable(Type.String()),
              tool_calls: nullable(Type.Array(anyObject)),
            }),
          ),
          finish_reason: nullable(Type.String()),
        }),
      ),
    ),
    usage: nullable(Usage),
  }),
)

const ChatCompletionEvent = named(
  'ChatCompletionEvent',
  Type.Object({
    data: Type.Union(
      [
        jsonText(ChatCompletionChunk),
        jsonText(GatewayError),
        named('ChatCompletionEnd', Type.Literal('[DONE]')),
      ],
      {
        description:
          'A chunk; at the end `[DONE]`, or an error with which the answer broke off. Only `[DONE]` says that it is complete.',
      },
    ),
  }),
)

export const ChatCompletionAnswer = wholeOrEvents(
  'The completion: whole, or with `stream: true` in chunks as the model writes it',
  ChatCompletion,
  ChatCompletionEvent,
)
