-- Leaky buckets of attempts (wrong passwords, sign-ins begun), one for each account and address, client and address, or
-- address. One that is not here is empty, so losing them in a crash only forgives: they need no WAL.
create unlogged table identity.attempts (
  -- A SHA-256: what people type as a user name may be anything, a password too.
  bucket bytea primary key,
  -- When the bucket has run dry, and the row says nothing any more.
  empty_at timestamptz not null
);

create index attempts_by_end on identity.attempts (empty_at);
