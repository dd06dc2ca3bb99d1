import { Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import fastJsonStringify from 'fast-json-stringify'
import type { FastifySchemaValidationError } from 'fastify'
import type { FastifyValidationResult } from 'fastify/types/schema.js'

const common = { useDefaults: true, allErrors: false, strict: false } as const
const body = new Ajv({ ...common, coerceTypes: false })
const text = new Ajv({ ...common, coerceTypes: 'array' })
addFormats.default(body)
addFormats.default(text)

type Serialize = (data: unknown) => string

const validators = {
  body: new WeakMap<object, ValidateFunction>(),
  text: new WeakMap<object, ValidateFunction>(),
}
const serializers = new WeakMap<object, Serialize>()

function remembered<T>(known: WeakMap<object, T>, schema: object, compile: () => T): T {
  let compiled = known.get(schema)
  if (compiled === undefined) {
    compiled = compile()
    known.set(schema, compiled)
  }
  return compiled
}

/**
 * Query strings and path parameters arrive as text and are coerced to their schema's type; bodies are JSON and are
 * not: `"5"` is no number. Compiled at first use, for compiling all schemas is half of a start.
 */
export function compileValidator({
  schema,
  httpPart,
}: {
  schema: object
  httpPart?: string
}): FastifyValidationResult {
  const part = httpPart === 'body' ? 'body' : 'text'
  const validate: FastifyValidationResult = (data) => {
    const check = remembered(validators[part], schema, () => (part === 'body' ? body : text).compile(schema))
    const isValid = check(data) === true
    validate.errors = (check.errors ?? null) as FastifySchemaValidationError[] | null
    return isValid
  }
  return validate
}

/** Writes exactly the fields that the response schema declares. Compiled at first use. */
export function compileSerializer({ schema }: { schema: object }): Serialize {
  return (data) => remembered(serializers, schema, () => fastJsonStringify(schema) as Serialize)(data)
}
