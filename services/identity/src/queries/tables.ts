import { createDatabase, type Generated, type Kysely, type Pool, type Selectable } from '@atrium/kernel/db'

/** What an id stands for. */
export type PrincipalKind = 'person' | 'client'

export type ClientStatus = 'In Progress' | 'Active' | 'Disabled'

type SigningKeysTable = {
  kid: string
  alg: string
  public_jwk: object
  sealed_private_jwk: Buffer
  created_at: Generated<Date>
  signs_from: Date
  retires_at: Generated<Date | null>
}

type ClientsTable = {
  client_id: string
  name: string
  status: ClientStatus
  token_lifetime_seconds: number
  revocations_until: Generated<Date | null>
  tokens_valid_from: Generated<Date | null>
  version: Generated<number>
  created_at: Generated<Date>
  updated_at: Generated<Date>
}

type ClientSecretsTable = {
  client_id: string
  secret_id: string
  hash: Buffer
  created_at: Generated<Date>
  expires_at: Generated<Date | null>
}

type AccountsTable = {
  qx_id: string
  name: string
  mail_address: Generated<string>
  password_hash: string
  password_changed_at: Generated<Date>
  disabled_at: Generated<Date | null>
  tokens_valid_from: Generated<Date | null>
  version: Generated<number>
  created_at: Generated<Date>
  updated_at: Generated<Date>
}

type SessionsTable = {
  session_id: string
  qx_id: string
  client_id: string
  address: string
  user_agent: string
  created_at: Generated<Date>
  last_used_at: Generated<Date>
  expires_at: Date
  ended_at: Generated<Date | null>
}

type OidcRecordsTable = {
  model: string
  id: string
  payload: object
  uid: string | null
  user_code: string | null
  grant_id: string | null
  account_id: string | null
  session_id: string | null
  expires_at: Date | null
}

type PrincipalIdsTable = {
  principal_id: string
  kind: PrincipalKind
  claimed_at: Generated<Date>
}

type PasswordLinksTable = {
  token_hash: Buffer
  qx_id: string
  expires_at: Date
}

type RevokedTokensTable = {
  jti: string
  expires_at: Date
}

export type IdentityTables = {
  signing_keys: SigningKeysTable
  principal_ids: PrincipalIdsTable
  clients: ClientsTable
  client_secrets: ClientSecretsTable
  accounts: AccountsTable
  password_links: PasswordLinksTable
  sessions: SessionsTable
  oidc_records: OidcRecordsTable
  revoked_tokens: RevokedTokensTable
}

export type SigningKeyRow = Selectable<SigningKeysTable>
export type ClientRow = Selectable<ClientsTable>
export type AccountRow = Selectable<AccountsTable>
export type SessionRow = Selectable<SessionsTable>
export type IdentityDatabase = Kysely<IdentityTables>

/** Identity's tables live in the schema of its name. */
export const identityDatabase = (pool: Pool): IdentityDatabase =>
  createDatabase<IdentityTables>(pool).withSchema('identity')
