import { Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'

export interface CallOptions {
  readonly token?: string
  /** Sent as JSON, unless it is a string, a Buffer or absent. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** For answers that the contract does not describe on purpose. */
  readonly unchecked?: boolean
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // Tests look into bodies of every shape; naming each would test the test.
  // biome-ignore lint/suspicious/noExplicitAny: the reason above
  readonly body: any
}

interface Described {
  readonly headers?: Record<string, unknown>
  readonly content?: Record<string, { schema?: object; itemSchema?: object }>
}

interface OpenApi {
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: { readonly responses: Record<string, Described> }
}

interface Operation {
  readonly operationId: string
  readonly responses: Record<string, Described | { $ref: string }>
}

/** Headers that an answer carries only where its contract says so. */
const DECLARED_HEADERS = ['etag', 'location', 'retry-after', 'www-authenticate']
/** Whatever a caller is refused for, what is left is told; contracts say so of successes and of 429. */
const RATE_LIMIT_HEADERS = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset']

/** A step of a JSON pointer. */
const step = (key: string): string => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))

function isJsonOf(text: string, validate: ValidateFunction): boolean {
  try {
    return validate(JSON.parse(text)) === true
  } catch {
    return false
  }
}

/** Server-sent events as OpenAPI 3.2 reads them: an object of each one's fields. */
const eventsOf = (text: string): Record<string, string>[] =>
  text
    .split(/\r?\n\r?\n/)
    .filter((event) => event !== '')
    .map((event) =>
      Object.fromEntries(event.split(/\r?\n/).map((line) => line.split(/: ?(.*)/s).slice(0, 2))),
    )

/** One service's OpenAPI document, as matchers and compiled response schemas. */
class Contract {
  readonly #matchers: { pattern: RegExp; path: string }[]
  readonly #document: OpenApi
  readonly #ajv = new Ajv({ strict: false, allErrors: true })
  readonly #compiled = new Map<string, ValidateFunction>()

  constructor(document: OpenApi) {
    this.#document = document
    addFormats.default(this.#ajv)
    // An annotation to ajv; here it is a promise.
    this.#ajv.removeKeyword('contentSchema').addKeyword({
      keyword: 'contentSchema',
      type: 'string',
      compile: (schema: { $ref: string }) => (text) => isJsonOf(text, this.#at(schema.$ref)),
    })
    this.#ajv.addSchema(document, 'contract', undefined, false)
    this.#matchers = Object.keys(document.paths)
      // Literal paths win over parameters.
      .sort((a, b) => a.split('{').length - b.split('{').length)
      .map((path) => ({
        path,
        pattern: new RegExp(`^${path.replace(/[.+*?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '[^/]+')}$`),
      }))
  }

  /**
   * @returns the operation's name; undefined when the contract has no such operation
   * @throws Error when the operation does not declare this status, media type or header, or the body does not fit
   */
  check(method: string, path: string, answer: Answer): string | undefined {
    const verb = method.toLowerCase()
    const template = this.#matchers.find(
      ({ pattern, path: one }) => pattern.test(path) && this.#document.paths[one]?.[verb] !== undefined,
    )?.path
    if (template === undefined) return undefined
    const operation = this.#document.paths[template]?.[verb] as Operation
    const broken = this.#faultOf(operation, ['paths', template, verb], answer)
    if (broken !== undefined) {
      throw new Error(
        `${operation.operationId} ${answer.status} breaks its contract: ${broken}\n${JSON.stringify(answer.body)}`,
      )
    }
    return operation.operationId
  }

  #faultOf(
    operation: Operation,
    at: readonly string[],
    { status, headers, body }: Answer,
  ): string | undefined {
    const found = operation.responses[status]
    if (found === undefined) return 'the status is not declared'
    const isShared = '$ref' in found
    const name = isShared ? (found.$ref.split('/').at(-1) ?? '') : ''
    const declared = isShared ? (this.#document.components.responses[name] as Described) : found
    const names = Object.keys(declared.headers ?? {}).map((one) => one.toLowerCase())
    const watched = [...DECLARED_HEADERS, ...(status < 400 || status === 429 ? RATE_LIMIT_HEADERS : [])]
    const undeclared = watched.find((one) => headers.has(one) && !names.includes(one))
    if (undeclared !== undefined) return `the header ${undeclared} is not declared`
    const type = headers.get('content-type')?.split(';')[0]
    if (type === undefined || body === '') return undefined
    const media = declared.content?.[type]
    if (media === undefined) return `${type} is not declared`
    const place = isShared ? ['components', 'responses', name] : [...at, 'responses', String(status)]
    const pointer = `#/${[...place, 'content', type].map(step).join('/')}`
    if (media.itemSchema !== undefined) {
      const validate = this.#at(`${pointer}/itemSchema`)
      const broken = eventsOf(body).find((event) => !validate(event))
      return broken && `${JSON.stringify(broken)}: ${this.#ajv.errorsText(validate.errors)}`
    }
    if (media.schema === undefined || !type.includes('json')) return undefined
    const validate = this.#at(`${pointer}/schema`)
    return validate(body) ? undefined : this.#ajv.errorsText(validate.errors)
  }

  /** @param pointer into the document, from `#` on */
  #at(pointer: string): ValidateFunction {
    let validate = this.#compiled.get(pointer)
    if (validate === undefined) {
      validate = this.#ajv.compile({ $ref: `contract${pointer}` })
      this.#compiled.set(pointer, validate)
    }
    return validate
  }
}

const contracts = new Map<string, Promise<Contract>>()

function contractOf(baseUrl: string, service: string): Promise<Contract> {
  let found = contracts.get(service)
  if (found === undefined) {
    found = fetch(`${baseUrl}/${service}/openapi.json`).then(
      async (response) => new Contract((await response.json()) as OpenApi),
    )
    contracts.set(service, found)
  }
  return found
}

function encode(body: unknown): { payload?: string | Uint8Array<ArrayBuffer>; isJson: boolean } {
  if (body === undefined) return { isJson: false }
  if (typeof body === 'string') return { payload: body, isJson: true }
  if (Buffer.isBuffer(body)) return { payload: new Uint8Array(body), isJson: true }
  return { payload: JSON.stringify(body), isJson: true }
}

/**
 * A function that calls a platform and checks each answer against the service's OpenAPI document: the
 * status must be declared and the body must fit.
 */
export function createCaller(
  baseUrl: string,
  onChecked?: (service: string, operation: string, status: number) => void,
) {
  return async (method: string, path: string, options: CallOptions = {}): Promise<Answer> => {
    const { payload, isJson } = encode(options.body)
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...(isJson ? { 'content-type': 'application/json' } : {}),
        ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
        ...options.headers,
      },
      ...(payload === undefined ? {} : { body: payload }),
    })
    const text = await response.text()
    const isJsonAnswer = (response.headers.get('content-type') ?? '').includes('json')
    const answer: Answer = {
      status: response.status,
      headers: response.headers,
      body: isJsonAnswer && text !== '' ? JSON.parse(text) : text,
    }
    if (options.unchecked !== true) {
      const [, service = '', ...rest] = path.split('?')[0]?.split('/') ?? []
      if (service !== '' && rest.length > 0) {
        const operation = (await contractOf(baseUrl, service)).check(method, `/${rest.join('/')}`, answer)
        if (operation !== undefined) onChecked?.(service, operation, answer.status)
      }
    }
    return answer
  }
}
