CREATE SCHEMA IF NOT EXISTS portal;

-- Ids are UUIDv7 made by the service; created_by_* and modified_by_* keep who acted, as they were then.

CREATE TABLE portal.people (
  user_id uuid PRIMARY KEY,
  q_number text NOT NULL CONSTRAINT people_q_number_unique UNIQUE,
  name text NOT NULL,
  department text NOT NULL DEFAULT '',
  mail_address text NOT NULL DEFAULT '',
  is_superuser boolean NOT NULL DEFAULT false,
  -- Set when the person becomes a superuser.
  superuser_since timestamptz,
  superuser_created_by text,
  superuser_modified_by text,
  superuser_modified_at timestamptz,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX people_superusers ON portal.people (superuser_since, user_id) WHERE is_superuser;

CREATE TABLE portal.spaces (
  space_id uuid PRIMARY KEY,
  space_name text NOT NULL,
  app_id text NOT NULL,
  description text NOT NULL DEFAULT '',
  itsm_service_offering text NOT NULL DEFAULT '',
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by_id text NOT NULL,
  created_by_name text NOT NULL,
  modified_at timestamptz NOT NULL DEFAULT now(),
  modified_by_id text NOT NULL,
  modified_by_name text NOT NULL
);

CREATE TABLE portal.memberships (
  space_id uuid NOT NULL REFERENCES portal.spaces ON DELETE CASCADE,
  user_id uuid NOT NULL REFERENCES portal.people,
  role text NOT NULL CHECK (role IN ('owner', 'member')),
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  modified_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT memberships_pkey PRIMARY KEY (space_id, user_id)
);
-- "My spaces", in the order of their ids.
CREATE INDEX memberships_by_user ON portal.memberships (user_id, space_id);

CREATE TABLE portal.client_principals (
  client_id text PRIMARY KEY,
  name text NOT NULL,
  is_superuser boolean NOT NULL DEFAULT false,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE portal.client_grants (
  space_id uuid NOT NULL REFERENCES portal.spaces ON DELETE CASCADE,
  client_id text NOT NULL REFERENCES portal.client_principals ON DELETE CASCADE,
  role text NOT NULL CHECK (role IN ('owner', 'member')),
  PRIMARY KEY (space_id, client_id)
);
CREATE INDEX client_grants_by_client ON portal.client_grants (client_id, space_id);

CREATE TABLE portal.api_keys (
  space_id uuid NOT NULL REFERENCES portal.spaces ON DELETE CASCADE,
  key_id uuid NOT NULL,
  name text NOT NULL,
  -- SHA-256 of the key; the key itself is stored nowhere.
  key_hash bytea NOT NULL CONSTRAINT api_keys_hash_unique UNIQUE,
  last_four text NOT NULL,
  status text NOT NULL DEFAULT 'Active' CHECK (status IN ('Active', 'Revoked')),
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz,
  last_used_at timestamptz,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by_id text NOT NULL,
  created_by_name text NOT NULL,
  modified_at timestamptz NOT NULL DEFAULT now(),
  modified_by_id text NOT NULL,
  modified_by_name text NOT NULL,
  PRIMARY KEY (space_id, key_id),
  CHECK ((status = 'Revoked') = (revoked_at IS NOT NULL))
);

CREATE TABLE portal.mkflw_workspaces (
  space_id uuid NOT NULL REFERENCES portal.spaces ON DELETE CASCADE,
  workspace_id uuid NOT NULL,
  region text NOT NULL,
  cluster_name text NOT NULL,
  namespace_name text NOT NULL,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by_id text NOT NULL,
  created_by_name text NOT NULL,
  modified_at timestamptz NOT NULL DEFAULT now(),
  modified_by_id text NOT NULL,
  modified_by_name text NOT NULL,
  PRIMARY KEY (space_id, workspace_id),
  CONSTRAINT mkflw_workspaces_namespace_unique UNIQUE (space_id, namespace_name)
);
CREATE INDEX mkflw_workspaces_by_cluster ON portal.mkflw_workspaces (cluster_name, space_id);

CREATE TABLE portal.cdh_links (
  space_id uuid NOT NULL REFERENCES portal.spaces ON DELETE CASCADE,
  cdh_workspace_id uuid NOT NULL,
  cdh_env_account_id text NOT NULL,
  name text NOT NULL,
  cdh_type text NOT NULL CHECK (cdh_type IN ('Provider', 'UseCase')),
  cdh_hub text NOT NULL,
  cdh_provider_id text NOT NULL DEFAULT '',
  cdh_use_case_id text NOT NULL DEFAULT '',
  stage text NOT NULL CHECK (stage IN ('Dev', 'Int', 'Prod')),
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by_id text NOT NULL,
  created_by_name text NOT NULL,
  modified_at timestamptz NOT NULL DEFAULT now(),
  modified_by_id text NOT NULL,
  modified_by_name text NOT NULL,
  PRIMARY KEY (space_id, cdh_workspace_id),
  CONSTRAINT cdh_links_name_unique UNIQUE (space_id, name)
);

CREATE TABLE portal.cost_entries (
  space_id uuid NOT NULL REFERENCES portal.spaces ON DELETE CASCADE,
  entry_id uuid NOT NULL,
  day date NOT NULL,
  service text NOT NULL,
  currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
  amount numeric NOT NULL CHECK (amount >= 0),
  usage_details text NOT NULL DEFAULT '{}',
  description text NOT NULL DEFAULT '',
  status text NOT NULL DEFAULT 'Recorded',
  -- Only on the gateway's own entries, which grow with each use.
  key_id uuid,
  model text,
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by_id text NOT NULL,
  created_by_name text NOT NULL,
  PRIMARY KEY (space_id, entry_id),
  CHECK ((key_id IS NULL) = (model IS NULL))
);
-- The current month's report reads this index alone.
CREATE INDEX cost_entries_by_day ON portal.cost_entries (space_id, day) INCLUDE (currency, service, amount);
CREATE UNIQUE INDEX cost_entries_usage ON portal.cost_entries (space_id, day, key_id, model, currency)
  WHERE key_id IS NOT NULL;

-- Pre-aggregation: written in the same transaction as each entry.
CREATE TABLE portal.cost_daily_totals (
  space_id uuid NOT NULL REFERENCES portal.spaces ON DELETE CASCADE,
  day date NOT NULL,
  service text NOT NULL,
  currency text NOT NULL,
  amount numeric NOT NULL,
  entries bigint NOT NULL,
  CONSTRAINT cost_daily_totals_pkey PRIMARY KEY (space_id, day, service, currency)
);
