import { fileURLToPath } from 'node:url'
import type { MigrationSet } from '@atrium/kernel/db'

export {
  type Act,
  type AuditChange,
  type AuditLog,
  actOf,
  actOfCaller,
  commandLineAct,
  systemAct,
} from './audit.ts'
export { bearerOf, createGuard, type Guard, type GuardDeps } from './guard.ts'
export { createIngress, type Ingress, type IngressOptions, ownAddressesIn } from './ingress.ts'
export { isMailAddress, isQxId, MailAddress, MailAddressOrNone, QX_ID_RULE, QxId } from './people.ts'
export {
  actorOf,
  type ClientPrincipal,
  callerOf,
  type KeyPrincipal,
  type Principal,
  type UserPrincipal,
} from './principal.ts'
export type { RateLimit } from './rate-limits/rate-limiter.ts'
export {
  createRateLimits,
  type RateLimits,
  rateLimitOf,
  type ServiceRateLimits,
} from './rate-limits/rate-limits.ts'
export { type AccessDirectory, type AccessRule, type AccessTable, defineAccess, type Grant } from './table.ts'

export const accessMigrations: MigrationSet = {
  schema: 'access',
  folder: fileURLToPath(new URL('../migrations', import.meta.url)),
}
export { networkOf } from './rate-limits/network.ts'
