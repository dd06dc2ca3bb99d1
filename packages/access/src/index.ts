export { bearerOf, createGuard, type Guard, type GuardDeps } from './guard.ts'
export {
  actorOf,
  type ClientPrincipal,
  callerOf,
  type KeyPrincipal,
  type Principal,
  type UserPrincipal,
} from './principal.ts'
export { type AccessDirectory, type AccessRule, type AccessTable, defineAccess, type Grant } from './table.ts'
