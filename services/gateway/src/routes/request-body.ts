import { readJsonBodies, type ServiceScope } from '@atrium/kernel/http'
import { parseJson } from '@atrium/kernel/json'
import { parseJsonInPieces } from '@atrium/kernel/json-pieces'
import type { FastifyRequest } from 'fastify'

/** A body as the bytes that came and as what they mean. */
export interface JsonBody {
  readonly raw: Buffer
  readonly value: unknown
}

/** Parsed in pieces, with others in between. */
const HUGE_BYTES = 1_048_576

/** Whether half of a surrogate pair is text is for the backend to say. */
const RULES = { isLenient: true }

const ABSENT: JsonBody = { raw: Buffer.alloc(0), value: undefined }

/** Keeps the bytes of JSON bodies, which backends get untouched. */
export const keepRawBodies = (scope: ServiceScope): void =>
  readJsonBodies(scope, (raw, pause): JsonBody | Promise<JsonBody> =>
    raw.length > HUGE_BYTES
      ? parseJsonInPieces(raw, pause, RULES).then((value) => ({ raw, value }))
      : { raw, value: parseJson(raw, RULES) },
  )

export const bodyOf = (request: FastifyRequest): JsonBody => (request.body as JsonBody | undefined) ?? ABSENT
