-- Links by which somebody chooses a password: the first one, or another. Each is good for one use; its bearer is the
-- only one who knows the token.
create table identity.password_links (
  token_hash bytea primary key check (length(token_hash) = 32),
  qx_id text not null references identity.accounts on delete cascade,
  expires_at timestamptz not null
);

create index password_links_of_person on identity.password_links (qx_id);
create index password_links_by_expiry on identity.password_links (expires_at);

create index accounts_in_order on identity.accounts (created_at, qx_id);
