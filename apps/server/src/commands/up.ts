import { OperatorError } from '@atrium/kernel/errors'
import { createLogger } from '@atrium/kernel/log'
import closeWithGrace from 'close-with-grace'
import { type Config, parseConfig } from '../config.ts'
import { type OpenDatabase, openDatabase } from '../database.ts'
import { type Platform, startPlatform } from '../platform.ts'

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
  say('  reference  <address>/docs, <address>/openapi.json')
  say(`  data       ${database.place}`)
  if (config.services.has('gateway')) {
    for (const [index, line] of platform.gateway.backends.summary().entries()) {
      say(`  ${index === 0 ? 'models  ' : '        '}   ${line}`)
    }
  }
  say('')
  announceCredentials(platform)
}

function announceCredentials({ firstCredentials: first }: Platform): void {
  if (first === undefined) return
  say('First credentials, shown this once only:')
  say('')
  say(`  user           ${first.user}`)
  say(`  password       ${first.password ?? '(as ATRIUM_BOOTSTRAP_PASSWORD says)'}`)
  say(`  client id      ${first.clientId}`)
  say(`  client secret  ${first.clientSecret ?? '(as ATRIUM_BOOTSTRAP_CLIENT_SECRET says)'}`)
  say('')
}

/** Runs the platform until a signal, then drains: requests under way end, everything is flushed and closed. */
export async function up(env: NodeJS.ProcessEnv): Promise<void> {
  const startedMs = performance.now()
  const config = parseConfig(env)
  const log = createLogger({ level: config.platform.ATRIUM_LOG_LEVEL ?? 'info', asynchronous: true, fd: 2 })
  const database = await openDatabase(config)
  let platform: Platform
  try {
    platform = await startPlatform(config, { databaseUrl: database.url, log })
  } catch (error) {
    await database.close()
    throw explain(error, config)
  }
  announce(config, database, platform, startedMs)

  const grace = closeWithGrace(
    { delay: (config.platform.ATRIUM_DRAIN_SECONDS ?? 30) * 1000, logger: false },
    async ({ err, signal }) => {
      if (err !== undefined) log.fatal({ err }, 'stopping because of an error')
      else say(`${signal ?? 'Stop'}: draining…`)
      await platform.close()
      await database.close()
      say('Stopped.')
      // A failure must be visible to whatever supervises the process.
      if (err !== undefined) process.exitCode = 1
    },
  )
  void database.crashed.then((error) => {
    log.fatal({ err: error }, 'the embedded database ended')
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
