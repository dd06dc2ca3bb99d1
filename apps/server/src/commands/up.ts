import { OperatorError } from '@atrium/kernel/errors'
import { createLogger } from '@atrium/kernel/log'
import closeWithGrace from 'close-with-grace'
import { type Config, parseConfig } from '../config.ts'
import { type OpenDatabase, openDatabase } from '../database.ts'
import { launcherGone } from '../launcher.ts'
import { type Platform, startPlatform } from '../platform.ts'
import { firstCredentialLines } from './first-credentials.ts'

const say = (line: string): void => void process.stdout.write(`${line}\n`)

function announce(config: Config, database: OpenDatabase, platform: Platform, startedMs: number): void {
  const base = config.publicUrl
  say(`Atrium is ready after ${((performance.now() - startedMs) / 1000).toFixed(1)} s`)
  say('')
  if (config.services.has('identity')) say(`  identity   ${base}/auth`)
  if (config.services.has('portal')) say(`  portal     ${base}/portal`)
  if (config.services.has('gateway')) {
    say(`  gateway    ${base}/llm/v1      (OpenAI-compatible: use it as base URL)`)
    say(`             ${base}/llm-cn/v1`)
  }
  if (config.services.has('agents')) say(`  agents     ${base}/agents`)
  if (config.services.has('workflows')) say(`  workflows  ${base}/workflows`)
  say('  reference  <address>/docs, <address>/openapi.json')
  say(`  data       ${database.place}`)
  for (const [index, line] of platform.backends.entries()) {
    say(`  ${index === 0 ? 'models  ' : '        '}   ${line}`)
  }
  say('')
  for (const line of firstCredentialLines(platform.firstCredentials, config)) say(line)
}

/** What closing may take after the drain, until the process is ended whatever it still does. */
const CLOSING_SECONDS = 30

function saysHowItDrains(config: Config, signal: string): string {
  const { drainPauseSeconds, platform } = config
  const pause =
    drainPauseSeconds > 0 ? `not ready from now, no new connections in ${drainPauseSeconds} s, then ` : ''
  return `${signal}: draining: ${pause}up to ${platform.ATRIUM_DRAIN_SECONDS} s for requests under way. A second signal ends at once.`
}

/** Runs the platform until a signal, then drains: requests under way end, everything is flushed and closed. */
export async function up(env: NodeJS.ProcessEnv): Promise<void> {
  const startedMs = performance.now()
  // Until everything stands there is nothing to drain, and leaving stops the embedded PostgreSQL.
  let stop = (): void => process.exit(1)
  const leave = (): void => stop()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, leave)
  void launcherGone(env).then(() => stop())
  // Whoever read it may be gone as well.
  process.stdout.on('error', () => {})
  const config = parseConfig(env)
  const log = createLogger({ level: config.platform.ATRIUM_LOG_LEVEL, asynchronous: true, fd: 2 })
  const database = await openDatabase(config)
  let platform: Platform
  try {
    platform = await startPlatform(config, { databaseUrl: database.url, ownerUrl: database.ownerUrl, log })
  } catch (error) {
    await database.close()
    throw explain(error, config)
  }
  let isBroken = false
  const { drainPauseSeconds } = config
  const mostSeconds = drainPauseSeconds + config.platform.ATRIUM_DRAIN_SECONDS + CLOSING_SECONDS
  const grace = closeWithGrace(
    {
      delay: mostSeconds * 1000,
      logger: false,
      onTimeout: () => log.fatal(`the stop took longer than ${mostSeconds} s: ending`),
    },
    async ({ err, signal }) => {
      stop = () => {}
      if (err !== undefined) log.fatal({ err }, 'stopping because of an error')
      else say(saysHowItDrains(config, signal ?? 'Stop'))
      try {
        // A process that is broken serves nobody any longer than it must.
        await platform
          .close({ pauseSeconds: err !== undefined || isBroken ? 0 : drainPauseSeconds })
          .finally(() => database.close())
      } catch (failure) {
        log.fatal({ err: failure }, 'the stop was not clean')
        throw failure
      }
      say('Stopped.')
      // A failure must be visible to whatever supervises the process.
      if (err !== undefined) process.exitCode = 1
    },
  )
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.off(signal, leave)
  stop = () => void grace.close()
  // Not before: whoever reads that it is ready may stop it the next moment.
  announce(config, database, platform, startedMs)
  void database.crashed.then((error) => {
    log.fatal({ err: error }, 'the embedded database ended')
    isBroken = true
    process.exitCode = 1
    grace.close()
  })
}

function explain(error: unknown, config: Config): unknown {
  if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') {
    return new OperatorError(
      `Port ${config.platform.ATRIUM_PORT} of ${config.platform.ATRIUM_HOST} is in use. Set ATRIUM_PORT to another one.`,
      { cause: error },
    )
  }
  return error
}
