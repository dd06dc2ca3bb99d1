import type { Readable } from 'node:stream'
import { jsonText, named, textLike } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { Timestamp } from './common.ts'

export const RunResultParams = Type.Object({
  spaceId: Type.String(),
  workflowId: Type.String(),
  runId: Type.String(),
})

const Task = Type.String({ minLength: 1, maxLength: 128, description: 'Of this task alone' })
const Attempt = Type.Integer({
  minimum: 1,
  maximum: 2_147_483_647,
  description: 'Of this attempt; by default the one that each task was last started in',
})

export const LogQuery = Type.Object({
  task: Type.Optional(Task),
  attempt: Type.Optional(Attempt),
  follow: Type.Boolean({
    default: false,
    description:
      'As server-sent events, until the task or run has ended; a text where `Accept` asks for `text/plain`',
  }),
})

export const LogHeaders = Type.Object({
  accept: Type.Optional(Type.String()),
  'last-event-id': Type.Optional(
    textLike('^[0-9]{0,15}$', 'be the id of an event of this log', {
      description: 'Number of the last piece that the reader has',
    }),
  ),
})

export const LogPiece = named(
  'LogPiece',
  Type.Object({
    task: Type.String(),
    attempt: Type.Integer(),
    at: Timestamp,
    text: Type.String({ description: 'Whole lines, with their ends' }),
  }),
)
export type LogPiece = Static<typeof LogPiece>

const LogEvent = named(
  'LogEvent',
  Type.Object({
    id: Type.Optional(Type.String({ description: 'For `Last-Event-ID`' })),
    event: Type.Optional(
      Type.Unsafe<'log' | 'end'>({
        type: 'string',
        enum: ['log', 'end'],
        description: '`end` is the last: it has the status',
      }),
    ),
    data: Type.Optional(
      jsonText(Type.Union([LogPiece, named('LogEnd', Type.Object({ status: Type.String() }))])),
    ),
  }),
)

const LogText = named('LogText', Type.Unsafe<Readable>({ type: 'string' }))

const description =
  'The log as text (lines of several tasks begin with their task’s name), or as server-sent events'

/** A stream in the handler. */
export const LogAnswer = {
  description,
  content: {
    'text/plain': { schema: LogText },
    'text/event-stream': { schema: Type.Unsafe<Readable>({ type: 'string' }), itemSchema: LogEvent },
  },
}

export const ArtifactQuery = Type.Object({ task: Type.Optional(Task) })

export const Artifact = named(
  'Artifact',
  Type.Object({
    task: Type.String(),
    path: Type.String({ description: 'As the task has named it below $ATRIUM_ARTIFACTS' }),
    attempt: Type.Integer(),
    size: Type.Integer({ description: 'Bytes' }),
    mediaType: Type.String({
      description: 'As the name’s ending says; downloads have one that no browser runs',
    }),
    sha256: Type.String({ description: 'Hexadecimal' }),
    createdAt: Timestamp,
  }),
)
export type Artifact = Static<typeof Artifact>

export const ArtifactList = named(
  'ArtifactList',
  Type.Object({ items: Type.Array(Artifact), totalCount: Type.Integer() }),
)

export const ArtifactParams = Type.Object({
  ...RunResultParams.properties,
  task: Type.String(),
  path: Type.String({ description: 'Slashes within may stand as they are, or as `%2F`' }),
})

/** The same, its slashes as they are. */
export const WildArtifactParams = Type.Object({
  ...RunResultParams.properties,
  task: Type.String(),
  '*': Type.String(),
})

const OTHER_TYPES = [
  'application/octet-stream',
  'text/plain',
  'text/csv',
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
] as const

const Bytes = named('ArtifactBytes', Type.Unsafe<Readable>({ type: 'string', format: 'binary' }))

const TAGGED = {
  headers: { ETag: { type: 'string', description: 'Names the bytes of the file, for `If-None-Match`' } },
}

export const ArtifactHeaders = Type.Object({
  'if-none-match': Type.Optional(
    Type.String({ description: 'An `ETag` of before; 304 while the file is the same' }),
  ),
})

export const ArtifactSame = {
  ...Type.Null({ description: '`If-None-Match` names the file; no body' }),
  ...TAGGED,
}

export const ArtifactBytes = {
  description: 'The file, always as one to be saved',
  ...TAGGED,
  content: {
    'application/json': {
      schema: named('ArtifactJson', Type.Unsafe<Readable>({ description: 'As the task wrote it' })),
    },
    ...Object.fromEntries(OTHER_TYPES.map((type) => [type, { schema: Bytes }])),
  },
}

export const MetricQuery = Type.Object({
  task: Type.Optional(Task),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Of this name alone' })),
  pageSize: Type.Integer({ minimum: 1, maximum: 10_000, default: 1000 }),
  pageToken: Type.Optional(
    Type.String({ maxLength: 1000, description: '`nextPageToken` of the page before; empty for the first' }),
  ),
})

export const Metric = named(
  'Metric',
  Type.Object({
    task: Type.String(),
    name: Type.String(),
    step: Type.Union([Type.Integer(), Type.Null()]),
    value: Type.Number(),
    at: Timestamp,
  }),
)
export type Metric = Static<typeof Metric>

export const MetricPage = named(
  'MetricPage',
  Type.Object({
    metrics: Type.Array(Metric),
    nextPageToken: Type.String({ description: 'Empty on the last page' }),
  }),
)
