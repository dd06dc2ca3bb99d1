import { variable } from '@atrium/kernel/config'

/** The agents service's part of the environment. */
export const agentsEnv = {
  ATRIUM_RETRIEVAL_URI: variable.string(
    'Where embeddings are kept: a folder, or object storage as s3://bucket/path, gs://… or az://… with the vendor’s own variables; by default the folder `retrieval` of the data folder',
  ),
  ATRIUM_RETRIEVAL_CACHE_MB: variable.integer('Memory of this process for search indexes, in MB', {
    fallback: 512,
    minimum: 64,
    maximum: 1_048_576,
  }),
  ATRIUM_AGENTS_RATE_LIMIT: variable.integer(
    'Requests a minute to the agents service from one user, machine client or API key; off by default',
    { minimum: 1 },
  ),
  ATRIUM_AGENTS_RATE_LIMIT_BURST: variable.integer(
    'Requests that one of them may send at once after a rest; the limit of a minute by default',
    { minimum: 1 },
  ),
} as const
