/** One argument of a template's release. */
export interface ArgumentSpec {
  readonly name: string
  readonly required: boolean
  /** A sentence or two, shown at `GET /v1/task-templates`. */
  readonly description: string
  /**
   * Whether `${secret.NAME}` may stand in it: `only` where a value in clear would be kept for everybody to read, `no`
   * where it would show in a command line or a log.
   */
  readonly secrets: 'no' | 'within' | 'only'
  /** JSON: what references give is encoded where they stand within strings. */
  readonly isJson?: true
  /** Why a value without references is not valid, like `must be a whole number`; undefined where it is. */
  check?(value: string): string | undefined
}

/** A release of a template. It never changes once it is published. */
export interface TemplateRelease {
  readonly name: string
  /** `v1.2.3`. */
  readonly version: `v${number}.${number}.${number}`
  readonly description: string
  readonly arguments: readonly ArgumentSpec[]
  /** Arguments of which exactly one must be given. */
  readonly oneOf?: readonly string[]
}

/** What an argument says of itself, without its name. */
export type ArgumentOptions = Partial<Omit<ArgumentSpec, 'name' | 'description' | 'required'>>

export const required = (name: string, description: string, options: ArgumentOptions = {}): ArgumentSpec => ({
  name,
  description,
  required: true,
  secrets: 'no',
  ...options,
})

export const optional = (name: string, description: string, options: ArgumentOptions = {}): ArgumentSpec => ({
  name,
  description,
  required: false,
  secrets: 'no',
  ...options,
})
