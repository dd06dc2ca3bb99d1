import { AppError, forbidden, invalidInput, invalidToken, unauthorized } from '@atrium/kernel/errors'
import { isUuid } from '@atrium/kernel/ids'
import { hangUpOf, workFor, workOf } from '@atrium/kernel/tenant-work'
import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify'
import type { Ingress } from './ingress.ts'
import { actorOf, type Principal, rememberCaller } from './principal.ts'
import type { RateLimits } from './rate-limits/rate-limits.ts'
import type { AccessDirectory, AccessRule, AccessTable, Grant } from './table.ts'

export interface GuardDeps {
  readonly directory: AccessDirectory
  /** The caller that a bearer credential stands for. @throws AppError 401 when it is not valid */
  authenticate(credential: string, request: FastifyRequest): Promise<Principal>
  /** The person whom an authenticating ingress names, where there is one. */
  readonly ingress?: Ingress | undefined
}

/** Route options that name an operation and enforce its row of the access table. */
export type Guard<Operation extends string> = (operation: Operation) => {
  readonly config: FastifyContextConfig
  readonly onRequest: (request: FastifyRequest, reply: FastifyReply) => Promise<void>
}

/** The token of `Authorization: Bearer <token>`. @throws AppError 401 */
export function bearerOf(request: FastifyRequest): string {
  const header = request.headers.authorization
  if (header === undefined) throw unauthorized('Authentication required: send Authorization: Bearer <token>')
  const match = /^Bearer +([^\s]+)$/i.exec(header)
  if (match?.[1] === undefined) throw unauthorized('The Authorization header must be: Bearer <token>')
  return match[1]
}

/** A credential of the caller's own counts before what an ingress says of them. */
async function identify(request: FastifyRequest, deps: GuardDeps): Promise<Principal> {
  const named = request.headers.authorization === undefined ? await deps.ingress?.(request) : undefined
  return named ?? deps.authenticate(bearerOf(request), request)
}

const nameOfKind = { user: 'a user token', client: 'an M2M token', key: 'an API key' } as const

type Row = Exclude<AccessRule, 'public'>

const REQUIRED = {
  member: 'No access to this space',
  owner: 'Space owner required',
  'owner-or-superuser': 'Space owner or superuser required',
} as const

/** The caller's role in the space of the path. @throws AppError 404 (400 where the row says so) when there is no such space */
async function roleAt(row: Row, caller: Principal, spaceId: string, directory: AccessDirectory) {
  const role = await directory.roleIn(caller, spaceId)
  if (role !== 'no-space') return role
  if (row.malformedSpaceId === 400 && !isUuid(spaceId)) throw invalidInput('params.spaceId', 'must be a UUID')
  throw new AppError(404, 'space_not_found', `Space ${spaceId} not found`)
}

async function decide(
  row: Row,
  caller: Principal,
  request: FastifyRequest,
  directory: AccessDirectory,
): Promise<void> {
  const grant: Grant = row[caller.kind]
  const { refusal } = row
  const params = request.params as { spaceId?: string; userId?: string }
  switch (grant) {
    case 'any':
      return
    case 'unauthorized':
      throw invalidToken(
        refusal ?? `This operation does not accept ${nameOfKind[caller.kind]}`,
        'unauthorized',
      )
    case 'forbidden':
      throw forbidden(refusal ?? `This operation is not open to ${nameOfKind[caller.kind]}`)
    case 'superuser':
      // An unknown space is unknown to everybody, so it is told before the lack of rights.
      if (params.spaceId !== undefined) await roleAt(row, caller, params.spaceId, directory)
      if (await directory.isSuperuser(caller)) return
      throw forbidden('Superuser required')
    case 'self':
      if (caller.kind === 'user' && caller.qxId === params.userId) return
      if (await directory.isSuperuser(caller)) return
      throw forbidden('Only about yourself, unless you are a superuser')
    case 'member':
    case 'owner-or-superuser':
    case 'owner': {
      const role = await roleAt(row, caller, params.spaceId ?? '', directory)
      if (role === 'owner' || (role === 'member' && grant === 'member')) return
      if (grant !== 'owner' && (await directory.isSuperuser(caller))) return
      throw forbidden(REQUIRED[grant])
    }
    default:
      throw new AppError(500, 'internal_error', `unknown grant ${String(grant satisfies never)}`)
  }
}

/** Whose share of the platform a request takes: the space's that it is about, else the caller's own. */
function tenantOf(caller: Principal, request: FastifyRequest): string {
  const { spaceId } = request.params as { spaceId?: string }
  if (caller.kind === 'key') return caller.spaceId
  return spaceId?.toLowerCase() ?? `${caller.kind}:${actorOf(caller).qxId}`
}

/**
 * Guards for the operations of one table. A route spreads `guard('updateSpace')` into its options; the
 * space of the decision is the path parameter `spaceId`, the person that of `userId`.
 * @throws Error from the guard, while routes are made, when the table has no row for the operation
 */
export function createGuard<T extends AccessTable>(
  table: T,
  deps: GuardDeps,
  limits: RateLimits,
): Guard<Extract<keyof T, string>> {
  return (operation) => {
    const rule = table[operation]
    if (rule === undefined) throw new Error(`the operation ${operation} has no row in the access table`)
    if (rule === 'public') {
      return { config: { operationId: operation, public: true }, onRequest: async () => {} }
    }
    return {
      config: { operationId: operation },
      onRequest: async (request, reply) => {
        const caller = await identify(request, deps)
        rememberCaller(request, caller)
        const asked = limits.admit(caller, request, reply)
        if (asked !== undefined) await asked
        await decide(rule, caller, request, deps.directory)
        const turn = workFor(workOf(request), tenantOf(caller, request), hangUpOf(request.raw, reply.raw))
        if (turn !== undefined) await turn
      },
    }
  }
}
