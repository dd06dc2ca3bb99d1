import { createDatabase, type Generated, type Kysely, type Pool, type Selectable } from '@atrium/kernel/db'

export type ClientStatus = 'In Progress' | 'Active' | 'Disabled'

interface SigningKeysTable {
  kid: string
  alg: string
  public_jwk: object
  sealed_private_jwk: Buffer
  created_at: Generated<Date>
  signs_from: Date
  retires_at: Generated<Date | null>
}

interface ClientsTable {
  client_id: string
  name: string
  status: ClientStatus
  token_lifetime_seconds: number
  version: Generated<number>
  created_at: Generated<Date>
  updated_at: Generated<Date>
}

interface ClientSecretsTable {
  client_id: string
  secret_id: string
  hash: Buffer
  created_at: Generated<Date>
  expires_at: Generated<Date | null>
}

interface AccountsTable {
  qx_id: string
  name: string
  mail_address: Generated<string>
  password_hash: string
  password_changed_at: Generated<Date>
  version: Generated<number>
  created_at: Generated<Date>
  updated_at: Generated<Date>
}

export interface IdentityTables {
  signing_keys: SigningKeysTable
  clients: ClientsTable
  client_secrets: ClientSecretsTable
  accounts: AccountsTable
}

export type SigningKeyRow = Selectable<SigningKeysTable>
export type ClientRow = Selectable<ClientsTable>
export type AccountRow = Selectable<AccountsTable>
export type IdentityDatabase = Kysely<IdentityTables>

/** Identity's tables live in the schema of its name. */
export const identityDatabase = (pool: Pool): IdentityDatabase =>
  createDatabase<IdentityTables>(pool).withSchema('identity')
