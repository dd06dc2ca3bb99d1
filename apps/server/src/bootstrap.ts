import { randomBytes } from 'node:crypto'
import type { Identity } from '@atrium/identity'
import type { Pool } from '@atrium/kernel/db'
import type { Portal } from '@atrium/portal'
import type { Config } from './config.ts'

/** Printed once; only hashes are kept. */
export interface FirstCredentials {
  readonly user: string
  /** Undefined when the environment gave it: then whoever set it knows it. */
  readonly password: string | undefined
  readonly clientId: string
  readonly clientSecret: string | undefined
}

const LOCK = 7_283_001

/**
 * On a database without any account: one superuser and one superuser client. Several processes that
 * start at once make one pair, for they take turns on an advisory lock.
 */
export async function bootstrap(parts: {
  pool: Pool
  config: Config
  identity: Identity
  portal: Portal
}): Promise<FirstCredentials | undefined> {
  const { pool, config, identity, portal } = parts
  const env = config.platform
  const user = env.ATRIUM_BOOTSTRAP_USER ?? 'admin'
  const clientId = env.ATRIUM_BOOTSTRAP_CLIENT_ID ?? 'atrium-admin'
  const turn = await pool.connect()
  try {
    await turn.query('SELECT pg_advisory_lock($1)', [LOCK])
    if (await identity.accounts.any()) return undefined
    const password = env.ATRIUM_BOOTSTRAP_PASSWORD ?? randomBytes(18).toString('base64url')
    const secret = env.ATRIUM_BOOTSTRAP_CLIENT_SECRET ?? randomBytes(32).toString('base64url')
    // The account comes last: a start that is cut off before it begins again here.
    await portal.makeSuperuser({ qNumber: user, name: 'Administrator' })
    await portal.makeSuperuserClient({ clientId, name: 'Administration' })
    await identity.clients.put({ clientId, name: 'Administration', secret, status: 'Active' })
    await identity.accounts.create({ qxId: user, name: 'Administrator', password })
    return {
      user,
      password: env.ATRIUM_BOOTSTRAP_PASSWORD === undefined ? password : undefined,
      clientId,
      clientSecret: env.ATRIUM_BOOTSTRAP_CLIENT_SECRET === undefined ? secret : undefined,
    }
  } finally {
    await turn.query('SELECT pg_advisory_unlock($1)', [LOCK])
    turn.release()
  }
}
