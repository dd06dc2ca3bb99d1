import { _, Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import fastJsonStringify from 'fast-json-stringify'
import type { FastifySchemaValidationError } from 'fastify'
import type { FastifyValidationResult } from 'fastify/types/schema.js'
import { type Fault, type FaultAt, faultsByPlace } from './faults.ts'

type Part = 'body' | 'text'

/** Characters of a text, of which two may make one; only those between the limit and twice of it are looked at. */
const isLonger = (text: string, limit: number): boolean =>
  text.length > limit && (text.length > 2 * limit || [...text].length > limit)

/** Length limits that cost nothing on a text of a megabyte: ajv's own count its characters one by one. */
function limitLengths(ajv: Ajv): void {
  const rules = {
    maxLength: (limit: number) => (text: string) => !isLonger(text, limit),
    minLength: (limit: number) => (text: string) => isLonger(text, limit - 1),
  }
  for (const [keyword, compile] of Object.entries(rules)) {
    ajv.removeKeyword(keyword)
    ajv.addKeyword({
      keyword,
      type: 'string',
      schemaType: 'number',
      compile,
      error: { message: keyword, params: ({ schemaCode }) => _`{limit: ${schemaCode}}` },
    })
  }
}

/** One that stops at the first fault, for every request; one that finds them all, for small ones that are refused. */
function compilersOf(part: Part, allErrors: boolean) {
  const coerceTypes = part === 'text' ? 'array' : false
  const ajv = new Ajv({ useDefaults: true, strict: false, verbose: true, allErrors, coerceTypes })
  addFormats.default(ajv)
  limitLengths(ajv)
  const known = new WeakMap<object, ValidateFunction>()
  return (schema: object): ValidateFunction => remembered(known, schema, () => ajv.compile(schema))
}

const compilers = {
  body: { first: compilersOf('body', false), all: compilersOf('body', true) },
  text: { first: compilersOf('text', false), all: compilersOf('text', true) },
}

/** Values and hundreds of characters in which all faults are looked for; of more only the first is told. */
const MOST_SEARCHED = 1000

/** Whether a value is small; looks at no more of it than that takes. */
function isSmall(value: unknown): boolean {
  let left = MOST_SEARCHED
  const open = [value]
  while (open.length > 0) {
    const one = open.pop()
    left -= typeof one === 'string' ? 1 + one.length / 100 : 1
    if (typeof one === 'object' && one !== null) {
      const inner = Array.isArray(one) ? one : Object.values(one)
      if (inner.length > left) return false
      open.push(...inner)
    }
    if (left < 0) return false
  }
  return true
}

type Serialize = (data: unknown) => string

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
    const first = compilers[part].first(schema)
    if (first(data) === true) {
      validate.errors = null
      return true
    }
    const all = isSmall(data) ? compilers[part].all(schema) : first
    if (all !== first) all(data)
    validate.errors = (all.errors ?? first.errors ?? null) as FastifySchemaValidationError[] | null
    return false
  }
  return validate
}

/** All that is wrong with a value that came by no request, a file's for example; fills in defaults. */
export function faultsOfValue(schema: object, value: unknown): FaultAt[] {
  const validate = compilers.body.all(schema)
  return validate(value) === true ? [] : faultsByPlace((validate.errors ?? []) as Fault[])
}

/** Writes exactly the fields that the response schema declares. Compiled at first use. */
export function compileSerializer({ schema }: { schema: object }): Serialize {
  return (data) => remembered(serializers, schema, () => fastJsonStringify(schema) as Serialize)(data)
}
