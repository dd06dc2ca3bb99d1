import { readFile } from 'node:fs/promises'
import { OperatorError } from '@atrium/kernel/errors'
import Type, { type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { parse } from 'yaml'
import { type Model, ModelKind } from '../contract/index.ts'
import { type Price, picoPerToken } from './price.ts'

export type Region = 'row' | 'cn'

const Decimal = Type.String({ pattern: '^\\d{1,9}(?:\\.\\d{1,6})?$' })
const Day = Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' })
const strict = { additionalProperties: false }

const Entry = Type.Object(
  {
    name: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$' }),
    kind: ModelKind,
    ownedBy: Type.String({ minLength: 1 }),
    released: Day,
    regions: Type.Array(Type.Union([Type.Literal('row'), Type.Literal('cn')]), { minItems: 1 }),
    deployments: Type.Array(
      Type.Object(
        {
          backend: Type.Union([Type.Literal('openai'), Type.Literal('bedrock'), Type.Literal('dashscope')]),
          model: Type.String({ minLength: 1, maxLength: 256 }),
        },
        strict,
      ),
      { minItems: 1 },
    ),
    prices: Type.Optional(
      Type.Object({ input: Decimal, cachedInput: Type.Optional(Decimal), output: Decimal }, strict),
    ),
    contextWindow: Type.Optional(Type.Integer({ minimum: 1 })),
    maxOutputTokens: Type.Optional(Type.Integer({ minimum: 1 })),
    dimensions: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_536 })),
    deprecated: Type.Optional(Day),
    sunset: Type.Optional(Day),
  },
  strict,
)

const validator = Compile(
  Type.Object(
    { currency: Type.String({ pattern: '^[A-Z]{3}$' }), models: Type.Array(Entry, { minItems: 1 }) },
    strict,
  ),
)

/** One model of the catalogue. */
export interface CatalogueModel {
  readonly name: string
  readonly kind: ModelKind
  /** False: only its server knows what it is for, so `kind` is a guess. */
  readonly isCatalogued: boolean
  readonly regions: readonly Region[]
  readonly deployments: readonly Static<typeof Entry>['deployments'][number][]
  /** Undefined: the catalogue names none, so only what was found on this machine may serve it. */
  readonly price: Price | undefined
  /** Of its vectors: as long unless asked for shorter ones. */
  readonly dimensions: number | undefined
  /** What `GET /v1/models` says about it, but for its availability. */
  readonly card: Omit<Model, 'available'>
  /** `Deprecation` (RFC 9745) and `Sunset` (RFC 8594), where they apply. */
  readonly headers: Readonly<Record<string, string>>
}

export interface Catalogue {
  readonly currency: string
  readonly models: ReadonlyMap<string, CatalogueModel>
}

/** The catalogue that comes with the gateway. */
export const builtInCatalogue = new URL('../../models.yaml', import.meta.url)

/** @throws OperatorError that names the file and everything that is wrong in it */
export async function loadCatalogue(file: string | URL): Promise<Catalogue> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (cause) {
    throw new OperatorError(`The model catalogue ${String(file)} cannot be read (ATRIUM_MODELS)`, { cause })
  }
  return parseCatalogue(text, String(file))
}

/** @param origin named in errors */
export function parseCatalogue(text: string, origin: string): Catalogue {
  const fail = (problems: string[]): never => {
    throw new OperatorError(`The model catalogue ${origin} is not valid:\n  ${problems.join('\n  ')}`)
  }
  let value: unknown
  try {
    value = parse(text)
  } catch (error) {
    return fail([(error as Error).message])
  }
  if (!validator.Check(value)) {
    return fail(
      [...validator.Errors(value)].slice(0, 20).map((e) => `${pathOf(value, e.instancePath)} ${e.message}`),
    )
  }
  const models = new Map<string, CatalogueModel>()
  for (const [index, entry] of value.models.entries()) {
    const at = `models[${index}] (${entry.name})`
    if (models.has(entry.name)) fail([`${at} is listed twice`])
    for (const field of ['released', 'deprecated', 'sunset'] as const) {
      if (!isDay(entry[field])) fail([`${at} ${field} must be a day of the calendar`])
    }
    models.set(entry.name, modelOf(entry))
  }
  return { currency: value.currency, models }
}

/** The pattern admits 30 February, which `Date` turns into March or into nothing. */
function isDay(day: string | undefined): boolean {
  if (day === undefined) return true
  const time = Date.parse(day)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day)
}

/** "/models/3/kind" → "models[3] (gpt-4o) kind". */
function pathOf(value: unknown, pointer: string): string {
  const [, list, index, ...rest] = pointer.split('/')
  if (list !== 'models' || index === undefined) return pointer.slice(1) || 'the file'
  const name = (value as { models?: { name?: unknown }[] }).models?.[Number(index)]?.name
  return `models[${index}]${typeof name === 'string' ? ` (${name})` : ''} ${rest.join('.')}`.trim()
}

function modelOf(entry: Static<typeof Entry>): CatalogueModel {
  const { prices, deprecated, sunset } = entry
  return {
    name: entry.name,
    kind: entry.kind,
    isCatalogued: true,
    dimensions: entry.dimensions,
    regions: entry.regions,
    deployments: entry.deployments,
    price:
      prices === undefined
        ? undefined
        : {
            input: picoPerToken(prices.input),
            cachedInput: picoPerToken(prices.cachedInput ?? prices.input),
            output: picoPerToken(prices.output),
          },
    card: {
      id: entry.name,
      object: 'model',
      created: Date.parse(entry.released) / 1000,
      owned_by: entry.ownedBy,
      kind: entry.kind,
      ...(entry.contextWindow === undefined ? {} : { context_window: entry.contextWindow }),
      ...(entry.maxOutputTokens === undefined ? {} : { max_output_tokens: entry.maxOutputTokens }),
      ...(deprecated === undefined ? {} : { deprecated_at: deprecated }),
      ...(sunset === undefined ? {} : { sunset_at: sunset }),
    },
    headers: {
      ...(deprecated === undefined ? {} : { deprecation: `@${Date.parse(deprecated) / 1000}` }),
      ...(sunset === undefined ? {} : { sunset: new Date(sunset).toUTCString() }),
    },
  }
}

/** A model that a server lists and the catalogue does not know: without a price, and in every region. */
export function uncataloguedModel(name: string, ownedBy: string, created: number): CatalogueModel {
  return {
    name,
    kind: 'chat',
    isCatalogued: false,
    dimensions: undefined,
    regions: ['row', 'cn'],
    deployments: [{ backend: 'openai', model: name }],
    price: undefined,
    card: { id: name, object: 'model', created, owned_by: ownedBy, kind: 'chat' },
    headers: {},
  }
}
