-- Machine clients. Their secrets are identity's, and so is their status: it stands here as well so that lists can show it.
ALTER TABLE portal.client_principals
  ADD COLUMN environment text NOT NULL DEFAULT 'prod' CHECK (environment IN ('int', 'prod')),
  ADD COLUMN mail_address text NOT NULL DEFAULT '',
  ADD COLUMN status text NOT NULL DEFAULT 'Active' CHECK (status IN ('In Progress', 'Active', 'Disabled')),
  ADD COLUMN token_lifetime_seconds integer NOT NULL DEFAULT 3600,
  -- Null while it is a registration; one that was disabled before that never got a secret.
  ADD COLUMN approved_at timestamptz DEFAULT now(),
  ADD COLUMN created_by_id text NOT NULL DEFAULT 'system',
  ADD COLUMN created_by_name text NOT NULL DEFAULT 'system',
  ADD COLUMN modified_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN modified_by_id text NOT NULL DEFAULT 'system',
  ADD COLUMN modified_by_name text NOT NULL DEFAULT 'system';
CREATE INDEX client_principals_in_order ON portal.client_principals (created_at, client_id);

ALTER TABLE portal.api_keys
  -- Instead of the gateway's own limit.
  ADD COLUMN requests_per_minute integer CHECK (requests_per_minute > 0),
  ADD COLUMN monthly_budget numeric CHECK (monthly_budget >= 0);

-- Values that a key had before it was rotated; each works until its own end.
CREATE TABLE portal.former_key_values (
  space_id uuid NOT NULL,
  key_id uuid NOT NULL,
  key_hash bytea NOT NULL CONSTRAINT former_key_values_hash_unique UNIQUE,
  valid_until timestamptz NOT NULL,
  PRIMARY KEY (space_id, key_id, key_hash),
  FOREIGN KEY (space_id, key_id) REFERENCES portal.api_keys ON DELETE CASCADE
);

CREATE TABLE portal.space_budgets (
  space_id uuid PRIMARY KEY REFERENCES portal.spaces ON DELETE CASCADE,
  -- Null: no budget any more.
  monthly_budget numeric CHECK (monthly_budget >= 0),
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by_id text NOT NULL,
  created_by_name text NOT NULL,
  modified_at timestamptz NOT NULL DEFAULT now(),
  modified_by_id text NOT NULL,
  modified_by_name text NOT NULL
);

-- Gateway use by month (its first day, UTC), written in the transaction that records the use: budgets are compared with it.
CREATE TABLE portal.key_monthly_spend (
  space_id uuid NOT NULL REFERENCES portal.spaces ON DELETE CASCADE,
  month date NOT NULL,
  key_id uuid NOT NULL,
  currency text NOT NULL,
  amount numeric NOT NULL,
  CONSTRAINT key_monthly_spend_pkey PRIMARY KEY (space_id, month, key_id, currency)
);
CREATE TABLE portal.space_monthly_spend (
  space_id uuid NOT NULL REFERENCES portal.spaces ON DELETE CASCADE,
  month date NOT NULL,
  currency text NOT NULL,
  amount numeric NOT NULL,
  CONSTRAINT space_monthly_spend_pkey PRIMARY KEY (space_id, month, currency)
);
INSERT INTO portal.key_monthly_spend (space_id, month, key_id, currency, amount)
  SELECT space_id, date_trunc('month', day)::date, key_id, currency, sum(amount)
    FROM portal.cost_entries WHERE key_id IS NOT NULL GROUP BY 1, 2, 3, 4;
INSERT INTO portal.space_monthly_spend (space_id, month, currency, amount)
  SELECT space_id, month, currency, sum(amount) FROM portal.key_monthly_spend GROUP BY 1, 2, 3;

-- No secret: the token that was sent is a signature over these columns.
CREATE TABLE portal.invitations (
  space_id uuid NOT NULL REFERENCES portal.spaces ON DELETE CASCADE,
  invitation_id uuid NOT NULL,
  mail_address text NOT NULL,
  role text NOT NULL CHECK (role IN ('owner', 'member')),
  expires_at timestamptz NOT NULL,
  accepted_at timestamptz,
  accepted_by text,
  revoked_at timestamptz,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by_id text NOT NULL,
  created_by_name text NOT NULL,
  modified_at timestamptz NOT NULL DEFAULT now(),
  modified_by_id text NOT NULL,
  modified_by_name text NOT NULL,
  PRIMARY KEY (space_id, invitation_id),
  CHECK (accepted_at IS NULL OR revoked_at IS NULL)
);

-- Who did what. Not tied to the spaces by a foreign key: what was done in one outlives it.
CREATE TABLE portal.audit_entries (
  entry_id uuid PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  actor_kind text NOT NULL CHECK (actor_kind IN ('user', 'client', 'key', 'system')),
  actor_id text NOT NULL,
  actor_name text NOT NULL,
  operation text NOT NULL,
  space_id uuid,
  resource_type text NOT NULL,
  resource_id text NOT NULL,
  before jsonb,
  after jsonb,
  address text NOT NULL,
  request_id text NOT NULL,
  user_agent text NOT NULL
);
CREATE INDEX audit_entries_of_space ON portal.audit_entries (space_id, at, entry_id);
CREATE INDEX audit_entries_in_order ON portal.audit_entries (at, entry_id);

CREATE FUNCTION portal.refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit log is append-only: % is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE TRIGGER audit_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON portal.audit_entries
  FOR EACH STATEMENT EXECUTE FUNCTION portal.refuse_audit_change();
-- Also for sessions that switch triggers off for replication.
ALTER TABLE portal.audit_entries ENABLE ALWAYS TRIGGER audit_entries_append_only;
