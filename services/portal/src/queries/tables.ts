import type { ColumnType, Generated, Kysely, QueryExecutorProvider, Transaction } from 'kysely'

type Defaulted<T> = ColumnType<T, T | undefined, T>
type Timestamp = ColumnType<Date, Date | undefined, Date>
export type Role = 'owner' | 'member'

interface Stamps {
  version: Defaulted<number>
  created_at: Timestamp
  created_by_id: string
  created_by_name: string
  modified_at: Timestamp
  modified_by_id: string
  modified_by_name: string
}

export interface PeopleTable {
  user_id: string
  q_number: string
  name: string
  department: Defaulted<string>
  mail_address: Defaulted<string>
  is_superuser: Defaulted<boolean>
  superuser_since: Date | null
  superuser_created_by: string | null
  superuser_modified_by: string | null
  superuser_modified_at: Date | null
  version: Defaulted<number>
  created_at: Timestamp
}

export interface SpacesTable extends Stamps {
  space_id: string
  space_name: string
  app_id: string
  description: Defaulted<string>
  itsm_service_offering: Defaulted<string>
  /** Set once it is deleted: closed, until somebody brings it back. */
  deleted_at: Generated<Date | null>
  deleted_by_id: Generated<string | null>
  deleted_by_name: Generated<string | null>
  remove_after: Generated<Date | null>
  /** Set once its data is gone. */
  removed_at: Generated<Date | null>
}

export interface MembershipsTable {
  space_id: string
  user_id: string
  role: Role
  version: Defaulted<number>
  created_at: Timestamp
  modified_at: Timestamp
}

export type ClientStatus = 'In Progress' | 'Active' | 'Disabled'

export interface ClientPrincipalsTable {
  client_id: string
  name: string
  is_superuser: Defaulted<boolean>
  environment: Defaulted<'int' | 'prod'>
  mail_address: Defaulted<string>
  status: Defaulted<ClientStatus>
  token_lifetime_seconds: Defaulted<number>
  approved_at: ColumnType<Date | null, Date | null | undefined, Date | null>
  version: Defaulted<number>
  created_at: Timestamp
  created_by_id: Defaulted<string>
  created_by_name: Defaulted<string>
  modified_at: Timestamp
  modified_by_id: Defaulted<string>
  modified_by_name: Defaulted<string>
}

export interface ClientGrantsTable {
  space_id: string
  client_id: string
  role: Role
}

export interface ApiKeysTable extends Stamps {
  space_id: string
  key_id: string
  name: string
  key_hash: Buffer
  last_four: string
  status: Defaulted<'Active' | 'Revoked'>
  expires_at: Date
  revoked_at: Generated<Date | null>
  last_used_at: Generated<Date | null>
  requests_per_minute: Generated<number | null>
  /** Decimal text. */
  monthly_budget: Generated<string | null>
}

export interface FormerKeyValuesTable {
  space_id: string
  key_id: string
  key_hash: Buffer
  valid_until: Date
}

export interface SpaceBudgetsTable extends Stamps {
  space_id: string
  monthly_budget: string | null
}

export interface InvitationsTable extends Stamps {
  space_id: string
  invitation_id: string
  mail_address: string
  role: Role
  expires_at: Date
  /** Null while it waits for a superuser. */
  approved_at: Date | null
  approved_by: string | null
  delivery: 'mail' | 'answer' | null
  accepted_at: Generated<Date | null>
  accepted_by: Generated<string | null>
  revoked_at: Generated<Date | null>
}

export interface MkflwWorkspacesTable extends Stamps {
  space_id: string
  workspace_id: string
  region: string
  cluster_name: string
  namespace_name: string
}

export interface CdhLinksTable extends Stamps {
  space_id: string
  cdh_workspace_id: string
  cdh_env_account_id: string
  name: string
  cdh_type: 'Provider' | 'UseCase'
  cdh_hub: string
  cdh_provider_id: string
  cdh_use_case_id: string
  stage: 'Dev' | 'Int' | 'Prod'
}

/** Every table of the schema `portal`. Costs are read and written by plain SQL, in their own file. */
export interface PortalTables {
  'portal.people': PeopleTable
  'portal.spaces': SpacesTable
  'portal.memberships': MembershipsTable
  'portal.client_principals': ClientPrincipalsTable
  'portal.client_grants': ClientGrantsTable
  'portal.api_keys': ApiKeysTable
  'portal.former_key_values': FormerKeyValuesTable
  'portal.space_budgets': SpaceBudgetsTable
  'portal.invitations': InvitationsTable
  'portal.mkflw_workspaces': MkflwWorkspacesTable
  'portal.cdh_links': CdhLinksTable
}

export type PortalDb = Kysely<PortalTables>
export type PortalTransaction = Transaction<PortalTables>
/** Anything that runs statements: the pool, or a transaction over whatever tables. */
export type StatementRunner = QueryExecutorProvider
