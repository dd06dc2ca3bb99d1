import path from 'node:path'
import { ownAddressesIn } from '@atrium/access'
import { agentsEnv } from '@atrium/agents/setup'
import { gatewayEnv } from '@atrium/gateway/setup'
import { identityEnv } from '@atrium/identity/setup'
import { type EnvValues, parseEnv, variable } from '@atrium/kernel/config'
import { OperatorError } from '@atrium/kernel/errors'
import { portalEnv } from '@atrium/portal/setup'
import { runsTasksHere, workflowsEnv } from '@atrium/workflows/setup'

export const SERVICES = ['identity', 'portal', 'gateway', 'agents', 'workflows'] as const
export type ServiceName = (typeof SERVICES)[number]

/** Load balancers ask for readiness every few seconds. */
const LOAD_BALANCER_SECONDS = 5

const platformEnv = {
  ATRIUM_HOST: variable.string('Address to listen on', { fallback: '127.0.0.1' }),
  ATRIUM_PORT: variable.integer('Port to listen on', { fallback: 8080, minimum: 1, maximum: 65535 }),
  ATRIUM_PUBLIC_URL: variable.string(
    'Origin under which callers reach the platform; by default http://localhost and the port',
    {
      pattern: '^https?://[^/]+$',
    },
  ),
  ATRIUM_DATA_DIR: variable.string('Folder for everything that the platform keeps on this machine', {
    fallback: '.atrium',
  }),
  ATRIUM_SERVICES: variable.list('Services of this process, by comma; all by default'),
  ATRIUM_MASTER_KEY: variable.string(
    '32 random bytes in base64 that encrypt secrets at rest; by default made once in the data folder',
    {
      secret: true,
    },
  ),
  ATRIUM_MASTER_KEY_PREVIOUS: variable.list(
    'More keys that are accepted, by comma, while ATRIUM_MASTER_KEY is exchanged for another',
    { secret: true },
  ),
  ATRIUM_METRICS_HOST: variable.string('Address of the metrics port', { fallback: '127.0.0.1' }),
  ATRIUM_METRICS_PORT: variable.integer('Port of Prometheus metrics (GET /metrics); off when unset', {
    minimum: 1,
    maximum: 65535,
  }),
  DATABASE_URL: variable.string(
    'PostgreSQL 15 or later; without it an embedded PostgreSQL 18 runs in the data folder',
    {
      secret: true,
      pattern: '^postgres(ql)?://',
    },
  ),
  ATRIUM_MIGRATION_DATABASE_URL: variable.string(
    'The same database as the role that owns the schemas and migrates; then the role of DATABASE_URL cannot change the audit log',
    { secret: true, pattern: '^postgres(ql)?://' },
  ),
  ATRIUM_DATABASE_POOL: variable.integer('Database connections of this process', {
    fallback: 20,
    minimum: 2,
    maximum: 500,
  }),
  ATRIUM_STALE_SECONDS: variable.integer(
    'How long keys, tokens and roles that are known stay good while the database is away',
    { fallback: 60, maximum: 3600 },
  ),
  ATRIUM_LOG_LEVEL: variable.choice(
    'Least level that is logged',
    ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    {
      fallback: 'info',
    },
  ),
  ATRIUM_CORS_ORIGINS: variable.list('Origins whose browsers may call, by comma; none by default'),
  ATRIUM_BODY_LIMIT: variable.integer('Largest JSON body in bytes', { fallback: 1_048_576, minimum: 1024 }),
  ATRIUM_WAITING_REQUESTS: variable.integer(
    'Requests of one tenant that may wait in this process for their turn to begin; one more gets 503',
    { fallback: 1000, minimum: 1, maximum: 100_000 },
  ),
  ATRIUM_TRUSTED_PROXIES: variable.list(
    'Addresses or networks of proxies whose X-Forwarded-* headers count, by comma',
  ),
  ATRIUM_BACKGROUND_JOBS: variable.boolean('Whether this process runs background jobs', { fallback: true }),
  ATRIUM_DRAIN_PAUSE_SECONDS: variable.integer(
    'How long a stop only says that it is not ready, and still accepts requests; 5 when unset and ATRIUM_TRUSTED_PROXIES or ATRIUM_INGRESS_ADDRESSES is set, else 0',
    { maximum: 3600 },
  ),
  ATRIUM_DRAIN_SECONDS: variable.integer('How long a stop waits for requests under way, after the pause', {
    fallback: 30,
    maximum: 3600,
  }),
  ATRIUM_BOOTSTRAP_USER: variable.string(
    'First superuser, made when the database is new; `admin` when unset, and nobody where people come from an external issuer',
    { pattern: '^[^\\s/]{1,128}$' },
  ),
  ATRIUM_BOOTSTRAP_PASSWORD: variable.string(
    'Its password; made up and printed once when unset; not used with an external issuer',
    {
      secret: true,
    },
  ),
  ATRIUM_BOOTSTRAP_CLIENT_ID: variable.string(
    'First superuser client, made when the database is new; `atrium-admin` when unset, and none where machines come from an external issuer',
    { pattern: '^[!-.0-~]{1,128}$' },
  ),
  ATRIUM_BOOTSTRAP_CLIENT_SECRET: variable.string(
    'Its secret; made up and printed once when unset; not used with an external issuer',
    {
      secret: true,
    },
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: variable.string('OpenTelemetry collector; traces are off when unset'),
  NODE_ENV: variable.string(
    '`production` refuses everything that is meant for trying out (the model sandbox), and the local workflow engine unless ATRIUM_ENGINE names it',
    { fallback: 'development' },
  ),
} as const

/** Every variable of the platform, by the part that reads it: the docs' table is made from this. */
export const environment = {
  platform: platformEnv,
  identity: identityEnv,
  portal: portalEnv,
  gateway: gatewayEnv,
  agents: agentsEnv,
  workflows: workflowsEnv,
} as const

export interface Config {
  readonly platform: EnvValues<typeof platformEnv>
  readonly identity: EnvValues<typeof identityEnv>
  readonly portal: EnvValues<typeof portalEnv>
  readonly gateway: EnvValues<typeof gatewayEnv>
  readonly agents: EnvValues<typeof agentsEnv>
  readonly workflows: EnvValues<typeof workflowsEnv>
  readonly services: ReadonlySet<ServiceName>
  /** Absolute. */
  readonly dataDir: string
  /** How long load balancers have to learn that no requests shall come any more. */
  readonly drainPauseSeconds: number
  /** Origin as callers see it, without a slash at its end. */
  readonly publicUrl: string
}

type Environment = Readonly<Record<string, string | undefined>>

/** Reads the environment once. @throws OperatorError naming each variable that is wrong */
export function parseConfig(env: Environment): Config {
  const problems: string[] = []
  const part = <T>(read: () => T): T => {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error
      problems.push(...error.message.split('\n').slice(1))
      // Never used: the problem just noted makes this function throw.
      return {} as T
    }
  }
  const platform = part(() => parseEnv(platformEnv, env))
  const identity = part(() => parseEnv(identityEnv, env))
  const portal = part(() => parseEnv(portalEnv, env))
  const gateway = part(() => parseEnv(gatewayEnv, env))
  const agents = part(() => parseEnv(agentsEnv, env))
  const workflows = part(() => parseEnv(workflowsEnv, env))
  const services = part(() => parseServices(env))
  if (problems.length > 0) throw new OperatorError(`The environment is not valid:\n${problems.join('\n')}`)
  const runsTasks = services.has('workflows') && platform.ATRIUM_BACKGROUND_JOBS
  if (runsTasks && runsTasksHere(workflows, platform.NODE_ENV)) demandSafeIngress(portal)
  const isBehindProxy =
    platform.ATRIUM_TRUSTED_PROXIES.length > 0 || portal.ATRIUM_INGRESS_ADDRESSES.length > 0
  return {
    platform,
    identity,
    portal,
    gateway,
    agents,
    workflows,
    services,
    dataDir: path.resolve(platform.ATRIUM_DATA_DIR),
    drainPauseSeconds: platform.ATRIUM_DRAIN_PAUSE_SECONDS ?? (isBehindProxy ? LOAD_BALANCER_SECONDS : 0),
    publicUrl: platform.ATRIUM_PUBLIC_URL ?? `http://localhost:${platform.ATRIUM_PORT}`,
  }
}

/** Tasks share this machine's addresses. @throws OperatorError where any of them could name any person */
function demandSafeIngress(portal: EnvValues<typeof portalEnv>): void {
  const { ATRIUM_INGRESS_SECRET: secret, ATRIUM_INGRESS_TOKEN_HEADER: tokenHeader } = portal
  if (secret !== undefined || tokenHeader !== undefined) return
  const own = ownAddressesIn(portal.ATRIUM_INGRESS_ADDRESSES)
  if (own.length === 0) return
  throw new OperatorError(
    `ATRIUM_INGRESS_ADDRESSES: ${own.join(', ')} is this machine, which runs tasks of workflows: any task could name any person. Set ATRIUM_INGRESS_SECRET as well, or run tasks elsewhere (ATRIUM_WORKFLOWS_TASKS=0)`,
  )
}

function parseServices(env: Environment): ReadonlySet<ServiceName> {
  const names = parseEnv({ ATRIUM_SERVICES: platformEnv.ATRIUM_SERVICES }, env).ATRIUM_SERVICES
  const known: readonly string[] = SERVICES
  const wrong = names.filter((name) => !known.includes(name))
  if (wrong.length > 0) {
    throw new OperatorError(
      `\n  ATRIUM_SERVICES=${names.join(',')}: ${wrong.join(', ')} is none of ${SERVICES.join(', ')}`,
    )
  }
  return new Set((names.length === 0 ? SERVICES : names) as ServiceName[])
}
