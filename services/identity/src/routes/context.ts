import type { Guard } from '@atrium/access'
import type { identityAccess } from '../access.ts'
import type { Interactions } from '../adapters/interactions.ts'
import type { RealmHandler } from '../adapters/provider-setup.ts'
import type { Accounts } from '../domain/accounts.ts'
import type { Realms } from '../domain/realms.ts'
import type { Sessions } from '../domain/sessions.ts'
import type { PasswordCheck } from '../domain/sign-in.ts'

/** What the routes of the machine realm need. */
export interface MachineContext {
  readonly publicUrl: string
  /** The OAuth library of the machine realm, on the keys that are published now. */
  machineRealm(): RealmHandler
}

/** What the routes for people need. */
export interface PeopleContext {
  readonly publicUrl: string
  readonly realms: Realms
  readonly guard: Guard<keyof typeof identityAccess>
  readonly accounts: Accounts
  readonly sessions: Sessions
  readonly passwords: PasswordCheck
  /** The OAuth library of the people's realm, on the keys that are published now. */
  peopleRealm(): RealmHandler
  interactions(): Interactions
}
