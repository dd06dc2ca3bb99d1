import { AppError } from '@atrium/kernel/errors'

/** What vectors of each supported model are as long as. */
const DIMENSIONS = {
  'text-embedding-3-small': 1536,
  'text-embedding-3-large': 3072,
  'titan-text-embeddings-v2': 1024,
} as const

type EmbeddingModel = keyof typeof DIMENSIONS

const DEFAULT_MODEL: EmbeddingModel = 'text-embedding-3-small'

const isSupported = (model: string): model is EmbeddingModel => Object.hasOwn(DIMENSIONS, model)

const shown = (text: string): string => JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text)

/**
 * Model and dimension of a new store. A model alone brings its dimension; a dimension alone goes with the default
 * model.
 * @throws AppError 400 when either is not supported or they do not go together
 */
export function embeddingModelOf(
  model: string | undefined,
  dimension: number | undefined,
): { model: string; dimension: number } {
  const name = model ?? DEFAULT_MODEL
  if (!isSupported(name)) {
    throw new AppError(
      400,
      'unsupported_embedding_model',
      `body.embeddingModel must be one of ${Object.keys(DIMENSIONS).join(', ')}, not ${shown(name)}`,
      { field: 'body.embeddingModel' },
    )
  }
  const own = DIMENSIONS[name]
  if (dimension !== undefined && dimension !== own) {
    const others = Object.entries(DIMENSIONS).filter(([, value]) => value === dimension)
    const hint =
      others.length === 0 ? '' : `; ${dimension} goes with ${others.map(([key]) => key).join(', ')}`
    throw new AppError(
      400,
      'unsupported_embedding_dimension',
      `body.embeddingDimension must be ${own} for ${name}, not ${dimension}${hint}`,
      { field: 'body.embeddingDimension' },
    )
  }
  return { model: name, dimension: own }
}
