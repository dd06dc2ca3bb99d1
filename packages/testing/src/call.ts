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

interface OpenApi {
  readonly paths: Record<string, Record<string, Operation>>
}

interface Operation {
  readonly operationId: string
  readonly responses: Record<string, { content?: Record<string, { schema?: object }> }>
}

const ajv = new Ajv({ strict: false, allErrors: true })
addFormats.default(ajv)

/** One service's OpenAPI document, as matchers and compiled response schemas. */
class Contract {
  readonly #matchers: { pattern: RegExp; path: string }[]
  readonly #document: OpenApi
  readonly #compiled = new Map<object, ValidateFunction>()

  constructor(document: OpenApi) {
    this.#document = document
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
   * @throws Error when the operation does not declare this status, or the body does not fit its schema
   */
  check(method: string, path: string, answer: Answer): string | undefined {
    const operation = this.#matchers
      .filter(({ pattern }) => pattern.test(path))
      .map(({ path: template }) => this.#document.paths[template]?.[method.toLowerCase()])
      .find((found) => found !== undefined)
    if (operation === undefined) return undefined
    this.#checkAnswer(operation, answer)
    return operation.operationId
  }

  #checkAnswer(operation: Operation, answer: Answer): void {
    const declared = operation.responses[String(answer.status)]
    if (declared === undefined) {
      throw new Error(
        `${operation.operationId} answered ${answer.status}, which its contract does not declare: ${JSON.stringify(answer.body)}`,
      )
    }
    const schema = declared.content?.['application/json']?.schema
    if (schema === undefined || !(answer.headers.get('content-type') ?? '').includes('json')) return
    let validate = this.#compiled.get(schema)
    if (validate === undefined) {
      validate = ajv.compile(schema)
      this.#compiled.set(schema, validate)
    }
    if (!validate(answer.body)) {
      throw new Error(
        `${operation.operationId} ${answer.status} breaks its contract: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(answer.body)}`,
      )
    }
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
