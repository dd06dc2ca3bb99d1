import type { Act, Guard } from '@atrium/access'
import type { identityAccess } from './access.ts'
import type { AccountAdministration } from './domain/account-administration.ts'
import type { Accounts } from './domain/accounts.ts'
import type { NewcomerInvitations } from './domain/newcomers.ts'
import type { Realms } from './domain/realms.ts'
import type { Sessions } from './domain/sessions.ts'
import type { SharedThrottle } from './domain/shared-throttle.ts'
import type { PasswordCheck } from './domain/sign-in.ts'
import type { Interactions, RealmHandler } from './ports.ts'

/** What the routes of the machine realm need. */
export interface MachineContext {
  /** The OAuth library of the machine realm, on the keys that are published now. */
  readonly machineRealm: RealmHandler
}

/** What the routes for people need. */
export interface PeopleContext {
  readonly realms: Realms
  readonly throttle: SharedThrottle
  /** Sign-ins that one address may begin. */
  readonly authorizationsPerMinute: number
  readonly guard: Guard<keyof typeof identityAccess>
  readonly accounts: Accounts
  readonly sessions: Sessions
  readonly passwords: PasswordCheck
  readonly passwordLinks: {
    /** @throws AppError 410 */
    personOf(token: string): Promise<string>
    /** @throws AppError 400, 410 */
    choose(choice: { qxId: string; token: string; password: string; act: Act }): Promise<void>
  }
  readonly invitations: NewcomerInvitations
  /** The OAuth library of the people's realm, on the keys that are published now. */
  readonly peopleRealm: RealmHandler
  interactions(): Interactions
}

/** What the routes for other people's accounts need. */
export interface AccountsContext {
  readonly guard: Guard<keyof typeof identityAccess>
  /** @throws AppError 409 where people sign in at an external issuer */
  administration(): AccountAdministration
}
