import { commandLineAct } from '@atrium/access'
import {
  countForeign,
  createKeyFile,
  type MasterKey,
  newKeyLine,
  readKeyFile,
  replaceKeyFile,
  reseal,
} from '@atrium/kernel/crypto'
import { createDatabase, createPool, type Pool } from '@atrium/kernel/db'
import { OperatorError } from '@atrium/kernel/errors'
import { createLogger } from '@atrium/kernel/log'
import { auditLog } from '@atrium/portal'
import { type Config, parseConfig } from '../config.ts'
import { joinDatabase } from '../database.ts'
import { bringUpToDate } from '../migrations.ts'
import { openMasterKey, sealedColumns } from '../sealed.ts'

const say = (line: string): void => void process.stdout.write(`${line}\n`)

/**
 * Seals everything with a new master key, while the platform runs; after a kill the same command goes on. In a data
 * folder it makes the key; keys of the environment are the operator's to change.
 * @param options.forget afterwards: removes the former keys from the data folder
 * @throws OperatorError
 */
export async function rotateMasterKey(env: NodeJS.ProcessEnv, options: { forget?: boolean }): Promise<void> {
  const config = parseConfig(env)
  // What the server warns of at its start is not repeated by every command.
  const log = createLogger({ level: 'error', fd: 2 })
  const database = await joinDatabase(config)
  const pool = createPool(database.url, { max: 2, applicationName: 'atrium-command', log })
  try {
    await bringUpToDate(database, log)
    if (options.forget === true) await forget(config, pool)
    else await rotate(config, pool)
  } finally {
    await pool.end()
    await database.close()
  }
}

async function foreignIn(pool: Pool, masterKey: MasterKey): Promise<number> {
  const counts = await Promise.all(sealedColumns.map((column) => countForeign(pool, masterKey, column)))
  return counts.reduce((sum, count) => sum + count, 0)
}

async function rotate(config: Config, pool: Pool): Promise<void> {
  const { dataDir, platform } = config
  const isFile = platform.ATRIUM_MASTER_KEY === undefined
  if (isFile) await createKeyFile(dataDir)
  else if (platform.ATRIUM_MASTER_KEY_PREVIOUS.length === 0) {
    throw new OperatorError(
      'Set ATRIUM_MASTER_KEY to the new key and ATRIUM_MASTER_KEY_PREVIOUS to the one before, for the platform as well.',
    )
  }
  // What an earlier run left undone comes first: each further key would have to be kept for it.
  if (isFile && (await foreignIn(pool, await openMasterKey(config))) === 0) {
    await replaceKeyFile(dataDir, [newKeyLine(), ...readKeyFile(dataDir).lines])
  }
  const masterKey = await openMasterKey(config)
  let count = 0
  for (const column of sealedColumns) count += await reseal(pool, masterKey, column)
  await noteInLog(pool, 'rotateMasterKey', { resealed: count })
  say(`${count} secrets are sealed with the current master key.`)
  say(
    isFile
      ? 'Restart the platform; when sign-ins and invitations from before have run out, run `atrium rotate-master-key --forget`.'
      : 'When sign-ins and invitations from before have run out, remove ATRIUM_MASTER_KEY_PREVIOUS.',
  )
}

async function forget(config: Config, pool: Pool): Promise<void> {
  const { dataDir, platform } = config
  const left = await foreignIn(pool, await openMasterKey(config))
  if (left > 0) {
    throw new OperatorError(
      `${left} secrets are still sealed with a former master key: run \`atrium rotate-master-key\` first.`,
    )
  }
  if (platform.ATRIUM_MASTER_KEY !== undefined) {
    say('Nothing is sealed with a former key: ATRIUM_MASTER_KEY_PREVIOUS can be removed.')
    return
  }
  const [current, ...former] = readKeyFile(dataDir).lines
  await replaceKeyFile(dataDir, [current])
  await noteInLog(pool, 'forgetMasterKeys', { forgotten: former.length })
  say(`${former.length} former keys are forgotten.`)
}

const noteInLog = (pool: Pool, operation: string, after: object): Promise<void> =>
  auditLog.record(createDatabase(pool), commandLineAct(operation), {
    spaceId: null,
    resourceType: 'masterKey',
    resourceId: 'master key',
    after,
  })
