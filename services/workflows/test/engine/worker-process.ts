// An engine in a process of its own, to be killed.
import { createDatabase, createNotifications, createPool } from '@atrium/kernel/db'
import { createLogger } from '@atrium/kernel/log'
import { createLocalEngine } from '../../src/adapters/local/engine.ts'
import type { TaskOutput } from '../../src/ports.ts'
import type { WorkflowsTables } from '../../src/queries/tables.ts'
import { LIMITS } from './limits.ts'
import { PLAIN_ARGUMENTS, shell, signalsIn } from './shell.ts'

const [url = '', dataDir = ''] = process.argv.slice(2)
const log = createLogger({ level: 'silent' })
const nothing: TaskOutput = {
  begin: async () => {},
  appendLog: async () => {},
  appendMetrics: async () => 0,
  keepArtifact: async () => undefined,
}

const engine = await createLocalEngine({
  db: createDatabase<WorkflowsTables>(createPool(url, { max: 6, applicationName: 'worker', log })),
  notifications: createNotifications({ url, log }),
  log,
  dataDir,
  output: nothing,
  secrets: { open: async () => new Map() },
  arguments: PLAIN_ARGUMENTS,
  programs: new Map([['shell', shell]]),
  limits: LIMITS,
  slots: 4,
  slotsOfSpace: 4,
  environment: {},
  readable: [signalsIn(dataDir)],
})
process.on('SIGTERM', () => void engine.close().then(() => process.exit(0)))
process.send?.('ready')
