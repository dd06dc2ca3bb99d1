CREATE SCHEMA IF NOT EXISTS access;

-- Token buckets, one for each service and credential (or address). A bucket that is not here is full, so losing them in
-- a crash only refills them: they need no WAL.
CREATE UNLOGGED TABLE access.rate_buckets (
  service text NOT NULL,
  holder text NOT NULL,
  -- Tokens that nobody holds; leased ones are counted until they are used or given back.
  tokens double precision NOT NULL,
  leased double precision NOT NULL,
  -- What the last request was given.
  granted double precision NOT NULL,
  touched_at timestamptz NOT NULL,
  -- When it is full again at the latest, and the row says nothing any more.
  full_at timestamptz NOT NULL,
  PRIMARY KEY (service, holder)
);
