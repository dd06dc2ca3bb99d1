import { randomBytes } from 'node:crypto'
import { systemAct } from '@atrium/access'
import type { IdentityPorts } from '@atrium/identity'
import type { Pool } from '@atrium/kernel/db'
import { AppError, OperatorError } from '@atrium/kernel/errors'
import type { PortalPorts } from '@atrium/portal'
import type { Config } from './config.ts'

/** A superuser that the first start made. */
export interface FirstSuperuser {
  readonly id: string
  /** Who signs them in, where that is not Atrium: then there is no secret of ours. */
  readonly issuer: string | undefined
  /** To be printed once, for only a hash is kept; undefined when the environment gave it, or the issuer is external. */
  readonly secret: string | undefined
}

export interface FirstCredentials {
  readonly user: FirstSuperuser | undefined
  readonly client: FirstSuperuser | undefined
}

interface Parts {
  readonly pool: Pool
  readonly config: Config
  readonly identity: IdentityPorts
  readonly portal: PortalPorts
}

const LOCK = 7_283_001

/**
 * On a new database: one superuser and one superuser client. Whoever comes from an external issuer is made only where
 * the environment names them, for whose token says `admin` there is not ours to decide. Several processes that start
 * at once make one pair, for they take turns on an advisory lock.
 * @returns what was made now; undefined when the first start is over
 * @throws OperatorError when the environment names somebody who cannot be
 */
export async function bootstrap(parts: Parts): Promise<FirstCredentials | undefined> {
  const turn = await parts.pool.connect()
  try {
    await turn.query('SELECT pg_advisory_lock($1)', [LOCK])
    if (await isDone(parts)) return undefined
    return await makeSuperusers(parts)
  } catch (error) {
    throw error instanceof AppError
      ? new OperatorError(`ATRIUM_BOOTSTRAP_… cannot be used: ${error.message}.`, { cause: error })
      : error
  } finally {
    await turn.query('SELECT pg_advisory_unlock($1)', [LOCK])
    turn.release()
  }
}

/** Databases from before the mark have an account instead. */
async function isDone({ pool, identity }: Parts): Promise<boolean> {
  const { rowCount } = await pool.query('SELECT FROM platform.first_start')
  return (rowCount ?? 0) > 0 || identity.accounts.any()
}

async function makeSuperusers(parts: Parts): Promise<FirstCredentials> {
  const { identity: issuers, platform: env } = parts.config
  const userId = env.ATRIUM_BOOTSTRAP_USER ?? (issuers.ATRIUM_USER_ISSUER === undefined ? 'admin' : undefined)
  const clientId =
    env.ATRIUM_BOOTSTRAP_CLIENT_ID ?? (issuers.ATRIUM_M2M_ISSUER === undefined ? 'atrium-admin' : undefined)
  const client = clientId === undefined ? undefined : await makeClient(parts, clientId)
  const user = userId === undefined ? undefined : await makeUser(parts, userId)
  // Last: a start that is cut off before it begins again here. Until somebody was made, the next start may name them.
  if (user !== undefined || client !== undefined) {
    await parts.pool.query('INSERT INTO platform.first_start DEFAULT VALUES ON CONFLICT DO NOTHING')
  }
  return { user, client }
}

async function makeClient({ config, identity, portal }: Parts, clientId: string): Promise<FirstSuperuser> {
  const issuer = config.identity.ATRIUM_M2M_ISSUER
  const given = config.platform.ATRIUM_BOOTSTRAP_CLIENT_SECRET
  const secret = given ?? randomBytes(32).toString('base64url')
  await identity.clients.put({ clientId, name: 'Administration', secret, status: 'Active' })
  await portal.makeSuperuserClient({ clientId, name: 'Administration' })
  return { id: clientId, issuer, secret: issuer === undefined && given === undefined ? secret : undefined }
}

async function makeUser({ config, identity, portal }: Parts, qxId: string): Promise<FirstSuperuser> {
  const issuer = config.identity.ATRIUM_USER_ISSUER
  const given = config.platform.ATRIUM_BOOTSTRAP_PASSWORD
  await portal.makeSuperuser({ qNumber: qxId, name: 'Administrator' })
  if (issuer !== undefined) return { id: qxId, issuer, secret: undefined }
  const password = given ?? randomBytes(18).toString('base64url')
  await identity.accounts.create({ qxId, name: 'Administrator', password }, systemAct('bootstrap'))
  return { id: qxId, issuer, secret: given === undefined ? password : undefined }
}
