CREATE SCHEMA IF NOT EXISTS gateway;

-- How far each process's journal of finished calls has been turned into cost entries.
CREATE TABLE gateway.usage_journals (
  journal_id uuid PRIMARY KEY,
  flushed_bytes bigint NOT NULL DEFAULT 0,
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- Usage that the portal refused to record, kept for the operator instead of blocking all others.
CREATE TABLE gateway.unrecorded_usage (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  usage jsonb NOT NULL,
  reason text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- Token buckets, one a key. Losing them in a crash only refills them, so they need no WAL.
CREATE UNLOGGED TABLE gateway.rate_buckets (
  key_id text PRIMARY KEY,
  -- Tokens that nobody holds; leased ones are counted until they are used or given back.
  tokens double precision NOT NULL,
  leased double precision NOT NULL,
  -- What the last request was given.
  granted double precision NOT NULL,
  touched_at timestamptz NOT NULL
);
