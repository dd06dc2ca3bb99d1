import { setTimeout as delay } from 'node:timers/promises'
import type { IdentityPorts } from '@atrium/identity'
import { createNotifications, createPool, waitForDatabase } from '@atrium/kernel/db'
import type { PlatformDeps } from '@atrium/kernel/deps'
import { createDrain, createHttpServer, type HttpServer } from '@atrium/kernel/http'
import { createJobs } from '@atrium/kernel/jobs'
import { Closers } from '@atrium/kernel/lifecycle'
import { createLogger, type Logger } from '@atrium/kernel/log'
import { createMetrics, serveMetrics } from '@atrium/kernel/metrics'
import { startTelemetry, type Telemetry } from '@atrium/kernel/telemetry'
import type { WorkflowEngine } from '@atrium/workflows'
import { bootstrap, type FirstCredentials } from './bootstrap.ts'
import type { Config } from './config.ts'
import { mountHealth } from './health.ts'
import { bringUpToDate } from './migrations.ts'
import { mountRoot } from './root.ts'
import { openMasterKey } from './sealed.ts'
import { createServices, type Services } from './services.ts'

export interface Platform {
  /** Where it listens. */
  readonly url: string
  readonly identity: IdentityPorts
  /** A line for each backend of the models; none where the gateway runs elsewhere. */
  readonly backends: readonly string[]
  /** Set on the very first start of a database, and never again. */
  readonly firstCredentials: FirstCredentials | undefined
  /**
   * Says that it is not ready, and serves on for the pause; then stops accepting, lets requests under way end, flushes
   * and closes everything.
   * @param options.pauseSeconds none by default
   */
  close(options?: { pauseSeconds?: number }): Promise<void>
}

async function createServer(
  config: Config,
  deps: PlatformDeps,
  services: Services,
  { telemetry, isDraining }: { telemetry: Telemetry; isDraining: () => boolean },
): Promise<HttpServer> {
  const app = await createHttpServer({
    log: deps.log,
    metrics: deps.metrics,
    corsOrigins: config.platform.ATRIUM_CORS_ORIGINS,
    bodyLimit: config.platform.ATRIUM_BODY_LIMIT,
    waitingRequests: config.platform.ATRIUM_WAITING_REQUESTS,
    trustedProxies: config.platform.ATRIUM_TRUSTED_PROXIES,
    https: config.publicUrl.startsWith('https:'),
  })
  // Before any route, or it would not be traced.
  await telemetry.instrument(app)
  mountRoot(app, [...config.services])
  mountHealth(app, { pool: deps.pool, isDraining })
  for (const service of services.own) await service.mount(app)
  return app
}

const defaultLogger = (config: Config): Logger =>
  createLogger({ level: config.platform.ATRIUM_LOG_LEVEL, asynchronous: true })

export interface PlatformOptions {
  /** A PostgreSQL that runs already, as the server's role. */
  readonly databaseUrl: string
  /** The same as the owner of the schemas. */
  readonly ownerUrl?: string | undefined
  readonly log?: Logger
  /** Runs the tasks of workflows in place of the one that the configuration names. */
  readonly engine?: WorkflowEngine | undefined
}

/** Builds the whole platform on a database, brings its schemas up to date and listens. */
export async function startPlatform(config: Config, options: PlatformOptions): Promise<Platform> {
  const closers = new Closers()
  let draining = false
  try {
    const log = options.log ?? defaultLogger(config)
    closers.add('log', () => log.flush())
    const url = options.databaseUrl
    const pool = createPool(url, {
      max: config.platform.ATRIUM_DATABASE_POOL,
      applicationName: 'atrium',
      staleSeconds: config.platform.ATRIUM_STALE_SECONDS,
      log,
    })
    closers.add('database pool', () => pool.end())
    await waitForDatabase(pool, { log })
    await bringUpToDate({ url, ownerUrl: options.ownerUrl }, log)
    const notifications = createNotifications({ url, log })
    closers.add('notifications', () => notifications.close())
    const metrics = createMetrics({ processMetrics: config.platform.ATRIUM_METRICS_PORT !== undefined })
    const masterKey = await openMasterKey(config)
    const telemetry = await startTelemetry({
      enabled: config.platform.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined,
      serviceName: 'atrium',
    })
    closers.add('telemetry', () => telemetry.stop())
    const runsJobs = config.platform.ATRIUM_BACKGROUND_JOBS
    const jobs = createJobs({ url, log, runsJobs })

    const deps: PlatformDeps = {
      pool,
      log,
      metrics,
      notifications,
      jobs,
      masterKey,
      publicUrl: config.publicUrl,
      dataDir: config.dataDir,
    }
    const isDraining = (): boolean => draining
    const services = await createServices({ config, deps, closers, isDraining, engine: options.engine })
    const ownJobs = services.own.flatMap((service) => service.jobs)
    closers.add('background jobs', () => jobs.close())
    await jobs.open(ownJobs)
    const firstCredentials = await bootstrap({
      pool,
      config,
      identity: services.identity,
      portal: services.portal,
    })

    const app = await createServer(config, deps, services, { telemetry, isDraining })
    const drain = createDrain(app)
    closers.add('http server', () => drain.close(config.platform.ATRIUM_DRAIN_SECONDS * 1000))
    await startMetrics(config, metrics, closers)
    if (runsJobs) await jobs.work(ownJobs)
    await app.listen({
      host: config.platform.ATRIUM_HOST,
      port: config.platform.ATRIUM_PORT,
    })
    return {
      url: `http://${hostForUrl(config.platform.ATRIUM_HOST)}:${config.platform.ATRIUM_PORT}`,
      identity: services.identity,
      backends: services.backends,
      firstCredentials,
      close: async ({ pauseSeconds = 0 } = {}) => {
        draining = true
        drain.begin()
        await delay(pauseSeconds * 1000)
        await closers.close()
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
    host: config.platform.ATRIUM_METRICS_HOST,
    port,
  })
  closers.add('metrics server', () => new Promise((resolve) => server.close(resolve)))
}
