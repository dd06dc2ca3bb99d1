import { type Agents, createAgents } from '@atrium/agents'
import { createGateway, type Gateway } from '@atrium/gateway'
import { createIdentity, type Identity } from '@atrium/identity'
import { loadMasterKey } from '@atrium/kernel/crypto'
import { createNotifications, createPool, migrate } from '@atrium/kernel/db'
import type { PlatformDeps } from '@atrium/kernel/deps'
import { OperatorError } from '@atrium/kernel/errors'
import { createHttpServer, type HttpServer } from '@atrium/kernel/http'
import { createJobs, type Job } from '@atrium/kernel/jobs'
import { Closers } from '@atrium/kernel/lifecycle'
import { createLogger, type Logger } from '@atrium/kernel/log'
import { createMetrics, serveMetrics } from '@atrium/kernel/metrics'
import { startTelemetry, type Telemetry } from '@atrium/kernel/telemetry'
import { createPortal, type Portal } from '@atrium/portal'
import { bootstrap, type FirstCredentials } from './bootstrap.ts'
import type { Config, ServiceName } from './config.ts'
import { migrationSets } from './migrations.ts'
import { mountRoot } from './root.ts'

export interface Platform {
  /** Where it listens. */
  readonly url: string
  readonly identity: Identity
  readonly gateway: Gateway
  /** Set on the very first start of a database, and never again. */
  readonly firstCredentials: FirstCredentials | undefined
  /** Stops accepting, lets requests under way end, flushes and closes everything. */
  close(): Promise<void>
}

interface Services {
  readonly identity: Identity
  readonly portal: Portal
  readonly gateway: Gateway
  readonly agents: Agents
}

/** The composition root's first half: each service from its dependencies, and what must be closed again. */
async function createServices(
  config: Config,
  deps: PlatformDeps,
  closers: Closers,
  isDraining: () => boolean,
): Promise<Services> {
  const identity = await createIdentity({ ...deps, env: config.identity })
  closers.add('identity', () => identity.close())
  const portal = await createPortal({
    ...deps,
    env: config.portal,
    environmentName: config.platform.NODE_ENV ?? 'development',
    verifyToken: identity.verifyToken,
    identityClients: identity.clients,
    mail: identity.mail,
    isDraining,
  })
  closers.add('portal', () => portal.close())
  const gateway = await createGateway({
    ...deps,
    env: config.gateway,
    keys: portal.keys,
    costs: portal.costs,
    nodeEnv: config.platform.NODE_ENV ?? 'development',
    ownPort: config.platform.ATRIUM_PORT ?? 8080,
  })
  closers.add('gateway', () => gateway.close())
  if (gateway.currency !== config.portal.ATRIUM_CURRENCY) {
    throw new OperatorError(
      `The model catalogue has prices in ${gateway.currency}, but ATRIUM_CURRENCY is ${config.portal.ATRIUM_CURRENCY}: budgets would not see what models cost. Make them the same.`,
    )
  }
  const agents = await createAgents({
    ...deps,
    env: config.agents,
    access: portal.access,
    models: gateway.models,
  })
  closers.add('agents', () => agents.close())
  return { identity, portal, gateway, agents }
}

async function createServer(
  config: Config,
  deps: PlatformDeps,
  services: Services,
  telemetry: Telemetry,
): Promise<HttpServer> {
  const app = await createHttpServer({
    log: deps.log,
    metrics: deps.metrics,
    corsOrigins: config.platform.ATRIUM_CORS_ORIGINS ?? [],
    bodyLimit: config.platform.ATRIUM_BODY_LIMIT ?? 1_048_576,
    trustedProxies: config.platform.ATRIUM_TRUSTED_PROXIES ?? [],
    https: config.publicUrl.startsWith('https:'),
  })
  // Before any route, or it would not be traced.
  await telemetry.instrument(app)
  mountRoot(app, [...config.services])
  for (const name of config.services) await services[name].mount(app)
  return app
}

const defaultLogger = (config: Config): Logger =>
  createLogger({ level: config.platform.ATRIUM_LOG_LEVEL ?? 'info', asynchronous: true })

/**
 * Builds the whole platform on a database, brings its schemas up to date and listens.
 * @param options.databaseUrl a PostgreSQL that runs already
 */
export async function startPlatform(
  config: Config,
  options: { databaseUrl: string; log?: Logger },
): Promise<Platform> {
  const closers = new Closers()
  let draining = false
  try {
    const log = options.log ?? defaultLogger(config)
    closers.add('log', () => log.flush())
    const url = options.databaseUrl
    const pool = createPool(url, {
      max: config.platform.ATRIUM_DATABASE_POOL ?? 20,
      applicationName: 'atrium',
      log,
    })
    closers.add('database pool', () => pool.end())
    await migrate(pool, migrationSets)
    const notifications = createNotifications({ url, log })
    closers.add('notifications', () => notifications.close())
    const metrics = createMetrics({ processMetrics: config.platform.ATRIUM_METRICS_PORT !== undefined })
    const masterKey = await loadMasterKey({
      fromEnv: config.platform.ATRIUM_MASTER_KEY,
      dataDir: config.dataDir,
    })
    const telemetry = await startTelemetry({
      enabled: config.platform.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined,
      serviceName: 'atrium',
    })
    closers.add('telemetry', () => telemetry.stop())

    const deps: PlatformDeps = {
      pool,
      log,
      metrics,
      notifications,
      masterKey,
      publicUrl: config.publicUrl,
      dataDir: config.dataDir,
    }
    const services = await createServices(config, deps, closers, () => draining)
    const firstCredentials = await bootstrap({
      pool,
      config,
      identity: services.identity,
      portal: services.portal,
    })

    const app = await createServer(config, deps, services, telemetry)
    closers.add('http server', () => app.close())
    await startMetrics(config, metrics, closers)
    await startJobs(config, services, { url, log }, closers)
    await app.listen({
      host: config.platform.ATRIUM_HOST ?? '127.0.0.1',
      port: config.platform.ATRIUM_PORT ?? 8080,
    })
    return {
      url: `http://${hostForUrl(config.platform.ATRIUM_HOST ?? '127.0.0.1')}:${config.platform.ATRIUM_PORT}`,
      identity: services.identity,
      gateway: services.gateway,
      firstCredentials,
      close: () => {
        draining = true
        return closers.close()
      },
    }
  } catch (error) {
    await closers.close().catch(() => {})
    throw error
  }
}

/** An address that a client on this machine can connect to. */
const hostForUrl = (host: string): string =>
  host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host

async function startMetrics(
  config: Config,
  metrics: PlatformDeps['metrics'],
  closers: Closers,
): Promise<void> {
  const port = config.platform.ATRIUM_METRICS_PORT
  if (port === undefined) return
  const server = await serveMetrics(metrics, {
    host: config.platform.ATRIUM_METRICS_HOST ?? '127.0.0.1',
    port,
  })
  closers.add('metrics server', () => new Promise((resolve) => server.close(resolve)))
}

async function startJobs(
  config: Config,
  services: Record<ServiceName, { readonly jobs: readonly Job[] }>,
  connection: { url: string; log: Logger },
  closers: Closers,
): Promise<void> {
  if (config.platform.ATRIUM_BACKGROUND_JOBS === false) return
  const jobs = createJobs(connection)
  closers.add('background jobs', () => jobs.close())
  await jobs.start([...config.services].flatMap((name) => services[name].jobs))
}
