-- Whoever is disabled neither signs in nor keeps a token.
alter table identity.accounts
  add column disabled_at timestamptz,
  -- Tokens without a session (those that an operator minted) count from then on only.
  add column tokens_valid_from timestamptz;

-- A sign-in of a person. Ended ones are kept for a while: they say what happened.
create table identity.sessions (
  session_id uuid primary key,
  qx_id text not null references identity.accounts on delete cascade,
  -- The application that the person signed in to first.
  client_id text not null,
  address text not null,
  user_agent text not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz not null default now(),
  expires_at timestamptz not null,
  ended_at timestamptz
);

create index sessions_of_person on identity.sessions (qx_id, created_at);
create index sessions_by_expiry on identity.sessions (expires_at);

-- What the OAuth library of the people's realm keeps: sessions of browsers, interactions, grants, codes, refresh tokens.
create table identity.oidc_records (
  model text not null,
  -- A SHA-256 where the id is a secret that its bearer presents.
  id text not null,
  payload jsonb not null,
  uid text,
  user_code text,
  grant_id text,
  account_id text,
  session_id text,
  expires_at timestamptz,
  primary key (model, id)
);

create index oidc_records_by_uid on identity.oidc_records (model, uid) where uid is not null;
create index oidc_records_by_user_code on identity.oidc_records (model, user_code) where user_code is not null;
create index oidc_records_by_grant on identity.oidc_records (grant_id) where grant_id is not null;
create index oidc_records_by_session on identity.oidc_records (session_id) where session_id is not null;
create index oidc_records_grants on identity.oidc_records (account_id) where model = 'Grant';
create index oidc_records_by_expiry on identity.oidc_records (expires_at);

-- Machine tokens that their client revoked before they expire.
create table identity.revoked_tokens (
  jti text primary key,
  expires_at timestamptz not null
);

create index revoked_tokens_by_expiry on identity.revoked_tokens (expires_at);

-- Until then some token of the client may be revoked; otherwise nobody needs to look.
alter table identity.clients add column revocations_until timestamptz;
