create schema if not exists identity;

-- Keys that sign tokens. Which one signs follows from the times alone: the newest with signs_from <= now.
create table identity.signing_keys (
  kid text primary key,
  alg text not null,
  public_jwk jsonb not null,
  -- The private JWK, sealed with the master key under a purpose that names the kid.
  sealed_private_jwk bytea not null,
  created_at timestamptz not null default now(),
  signs_from timestamptz not null,
  -- Published until then; set when a successor is made.
  retires_at timestamptz
);

-- Machine clients.
create table identity.clients (
  client_id text primary key,
  name text not null,
  status text not null check (status in ('In Progress', 'Active', 'Disabled')),
  token_lifetime_seconds integer not null check (token_lifetime_seconds between 60 and 86400),
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create index clients_in_order on identity.clients (created_at, client_id);

-- A client has one secret, and during a rotation's overlap two.
create table identity.client_secrets (
  client_id text not null references identity.clients on delete cascade,
  secret_id uuid not null,
  hash bytea not null check (length(hash) = 32),
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  primary key (client_id, secret_id)
);

-- People who sign in at the embedded issuer.
create table identity.accounts (
  qx_id text primary key,
  name text not null,
  mail_address text not null default '',
  password_hash text not null,
  password_changed_at timestamptz not null default now(),
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
