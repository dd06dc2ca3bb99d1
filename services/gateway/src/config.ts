import { variable } from '@atrium/kernel/config'

/** The gateway's part of the environment. */
export const gatewayEnv = {
  ATRIUM_MODELS: variable.string('Path of the model catalogue; the built-in models.yaml by default'),
  ATRIUM_SANDBOX: variable.choice(
    'Built-in fake backend: `auto` (only where no other backend is found, never in production), `on` (for every model without a backend), `off`',
    ['auto', 'on', 'off'],
    { fallback: 'auto' },
  ),
  OPENAI_API_KEY: variable.string('Key of OpenAI, or of the server that OPENAI_BASE_URL names', {
    secret: true,
  }),
  OPENAI_BASE_URL: variable.string('Address of an OpenAI-compatible server, with its /v1', {
    pattern: '^https?://',
  }),
  ATRIUM_PROBE_LOCAL_MODELS: variable.boolean(
    'Look for an OpenAI-compatible server on the usual ports of this machine when no backend is configured',
    { fallback: true },
  ),
  ATRIUM_LOCAL_MODEL_PORTS: variable.list('The ports where that server is looked for, by comma', {
    fallback: ['11434', '1234', '8000', '8081', '1337'],
  }),
  ATRIUM_GATEWAY_RATE_LIMIT: variable.integer('Requests a minute and API key; off by default', {
    minimum: 1,
  }),
  ATRIUM_GATEWAY_RATE_LIMIT_BURST: variable.integer(
    'Requests that a rested API key may send at once; the limit of a minute by default',
    { minimum: 1 },
  ),
  ATRIUM_GATEWAY_CONNECTIONS: variable.integer('Connections to one backend at most, per process', {
    fallback: 2048,
    minimum: 1,
  }),
  ATRIUM_GATEWAY_HEADERS_TIMEOUT_MS: variable.integer(
    'Longest wait for a backend to begin its answer, in milliseconds',
    { fallback: 300_000, minimum: 1 },
  ),
  ATRIUM_GATEWAY_IDLE_TIMEOUT_MS: variable.integer(
    'Longest silence within an answer of a backend, in milliseconds',
    { fallback: 120_000, minimum: 1 },
  ),
  ATRIUM_GATEWAY_TOTAL_TIMEOUT_MS: variable.integer('Longest duration of one call, in milliseconds', {
    fallback: 1_800_000,
    minimum: 1,
  }),
} as const
