import type { FastifySchemaValidationError } from 'fastify'

/** What ajv says of a failure when it is verbose. */
export interface Fault extends FastifySchemaValidationError {
  /** Where it is the name of a property that is wrong. */
  readonly propertyName?: string
  readonly parentSchema?: Readonly<Record<string, unknown>>
}

/** More faults than these are counted, not told. */
const MOST_TOLD = 10

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
  null: 'null',
}

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': 'a date and time with its zone, like 2026-03-01T12:00:00Z',
  date: 'a date, like 2026-03-01',
  uuid: 'a UUID',
  email: 'an e-mail address',
  uri: 'a URL',
}

const typesOf = ({ params }: Fault): string[] => [(params as { type: string | string[] }).type].flat()

const typeWords = (types: readonly string[]): string =>
  [...new Set(types)].map((type) => TYPES[type] ?? type).join(' or ')

const plural = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

/** Why a value was refused, by the keyword that refused it. */
const REASONS: Readonly<Record<string, (params: Record<string, unknown>, fault: Fault) => string>> = {
  required: () => 'is required',
  type: (_, fault) => `must be ${typeWords(typesOf(fault))}`,
  enum: ({ allowedValues }) => `must be one of ${(allowedValues as unknown[]).join(', ')}`,
  const: ({ allowedValue }) => `must be ${JSON.stringify(allowedValue)}`,
  minimum: ({ limit }) => `must be ${limit} or more`,
  maximum: ({ limit }) => `must be ${limit} or less`,
  exclusiveMaximum: ({ limit }) => `must be less than ${limit}`,
  minLength: ({ limit }) =>
    limit === 1 ? 'must not be empty' : `must have at least ${plural(Number(limit), 'character')}`,
  maxLength: ({ limit }) => `must have at most ${plural(Number(limit), 'character')}`,
  minItems: ({ limit }) =>
    limit === 1 ? 'must not be empty' : `must have at least ${plural(Number(limit), 'item')}`,
  maxItems: ({ limit }) => `must have at most ${plural(Number(limit), 'item')}`,
  maxProperties: ({ limit }) => `must have at most ${plural(Number(limit), 'field')}`,
  format: ({ format }) => `must be ${FORMATS[String(format)] ?? `of the format ${format}`}`,
  additionalProperties: () => 'is not known here',
  pattern: (_, { parentSchema }) => `must ${String(parentSchema?.['x-must'] ?? 'have another form')}`,
}

const reasonOf = (fault: Fault): string =>
  REASONS[fault.keyword]?.(fault.params, fault) ?? fault.message ?? 'is not valid'

/** `/grants/0/role` → `grants`, `0`, `role`; of what is missing, too many or misnamed its own name. */
function pathOf({ instancePath, params, propertyName }: Fault): string[] {
  const path = instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const own = propertyName ?? params.missingProperty ?? params.additionalProperty
  return own === undefined ? path : [...path, String(own)]
}

/** A choice of schemas fails with the faults of each: they are one fault, that of the choice which came nearest. */
function withoutChoices(faults: readonly Fault[]): Fault[] {
  const choices = faults.filter(({ keyword }) => keyword === 'anyOf')
  const kept = faults.filter(({ keyword }) => !['anyOf', 'if', 'propertyNames'].includes(keyword))
  return choices.reduce((left: Fault[], choice) => {
    const isBranch = (one: Fault): boolean =>
      one.schemaPath.startsWith(`${choice.schemaPath}/`) && one.instancePath.startsWith(choice.instancePath)
    const branches = left.filter(isBranch)
    const at = left.findIndex(isBranch)
    if (at === -1) return left
    const near = branches.filter(
      ({ keyword, instancePath }) => keyword !== 'type' || instancePath !== choice.instancePath,
    )
    const merged: Fault[] =
      near.length > 0 ? near : [{ ...(branches[0] as Fault), params: { type: branches.flatMap(typesOf) } }]
    return [
      ...left.slice(0, at).filter((one) => !isBranch(one)),
      ...merged,
      ...left.slice(at).filter((one) => !isBranch(one)),
    ]
  }, kept)
}

export interface FaultAt {
  readonly path: readonly string[]
  /** Without the path: `must be a string`. */
  readonly reason: string
}

/** What is wrong with a value, one reason for each place. */
export function faultsByPlace(found: readonly Fault[]): FaultAt[] {
  const told = new Map<string, FaultAt>()
  for (const fault of withoutChoices(found)) {
    const path = pathOf(fault)
    const place = JSON.stringify(path)
    // An empty text is also blank; one reason a field is enough.
    if (!told.has(place)) told.set(place, { path, reason: reasonOf(fault) })
  }
  return [...told.values()]
}

/** A name that a path would swallow stands in quotes. */
const shownStep = (step: string): string => (/^[^\s."]+$/.test(step) ? step : JSON.stringify(step))

/**
 * What is wrong with a request, in words: every fault that was found, each with its field.
 * @param part `body`, `query` or `params`
 * @returns `field` is that of the first fault
 */
export function describeFaults(found: readonly Fault[], part: string): { field: string; message: string } {
  const faults = faultsByPlace(found).map(({ path, reason }) => ({
    field: [part, ...path.map(shownStep)].join('.'),
    reason,
  }))
  const texts = faults.map(({ field, reason }) => `${field} ${reason}`)
  const more = texts.length > MOST_TOLD ? [`and ${texts.length - MOST_TOLD} more`] : []
  return {
    field: faults[0]?.field ?? part,
    message: [...texts.slice(0, MOST_TOLD), ...more].join('; '),
  }
}
