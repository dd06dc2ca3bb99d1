CREATE SCHEMA IF NOT EXISTS agents;

-- Ids are UUIDv7 made by the service. `size` is what a row weighs when it is listed, in bytes: lists are read in
-- batches of so many bytes. Metadata has no index of its own: it is searched within one space, agent or thread,
-- and there the indexes below have cut the rows down already.

CREATE TABLE agents.agents (
  space_id uuid NOT NULL REFERENCES portal.spaces ON DELETE CASCADE,
  agent_id uuid NOT NULL,
  name text NOT NULL,
  instructions text NOT NULL,
  description text NOT NULL,
  model text NOT NULL,
  provider text NOT NULL,
  output_format text NOT NULL,
  default_parameters jsonb NOT NULL DEFAULT '{}',
  metadata jsonb NOT NULL DEFAULT '{}',
  created_by jsonb NOT NULL,
  updated_by jsonb,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  size integer NOT NULL GENERATED ALWAYS AS (
    octet_length(name) + octet_length(instructions) + octet_length(description) + octet_length(metadata::text)
  ) STORED,
  PRIMARY KEY (space_id, agent_id)
);
CREATE INDEX agents_in_order ON agents.agents (space_id, created_at, agent_id);

-- Every message updates its thread's last_message_at: the free part of a page lets that happen in place.
CREATE TABLE agents.threads (
  space_id uuid NOT NULL,
  agent_id uuid NOT NULL,
  thread_id uuid NOT NULL,
  title text,
  status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'archived', 'completed')),
  metadata jsonb NOT NULL DEFAULT '{}',
  last_message_at timestamptz,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  size integer NOT NULL GENERATED ALWAYS AS (
    coalesce(octet_length(title), 0) + octet_length(metadata::text)
  ) STORED,
  PRIMARY KEY (space_id, thread_id),
  FOREIGN KEY (space_id, agent_id) REFERENCES agents.agents ON DELETE CASCADE
) WITH (fillfactor = 85);
CREATE INDEX threads_in_order ON agents.threads (space_id, agent_id, created_at, thread_id);

-- created_at is given under the lock of the thread's row, so within a thread it is unique and the order of creation.
CREATE TABLE agents.messages (
  space_id uuid NOT NULL,
  thread_id uuid NOT NULL,
  message_id uuid NOT NULL,
  role text NOT NULL CHECK (role IN ('user', 'assistant', 'system', 'tool')),
  content jsonb NOT NULL,
  metadata jsonb NOT NULL DEFAULT '{}',
  model text,
  usage jsonb,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL,
  size integer NOT NULL GENERATED ALWAYS AS (
    octet_length(content::text) + octet_length(metadata::text)
  ) STORED,
  PRIMARY KEY (space_id, thread_id, message_id),
  FOREIGN KEY (space_id, thread_id) REFERENCES agents.threads ON DELETE CASCADE
);
CREATE INDEX messages_in_order ON agents.messages (space_id, thread_id, created_at, message_id);

-- Their embeddings are kept outside of this database: `deleting` hides a store until these are gone as well.
CREATE TABLE agents.vector_stores (
  space_id uuid NOT NULL REFERENCES portal.spaces ON DELETE CASCADE,
  vector_store_id uuid NOT NULL,
  name text NOT NULL,
  description text,
  embedding_model text NOT NULL,
  embedding_dimension integer NOT NULL,
  chunk_size integer NOT NULL,
  chunk_overlap integer NOT NULL,
  created_by jsonb,
  updated_by jsonb,
  metadata jsonb NOT NULL DEFAULT '{}',
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'deleting')),
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (space_id, vector_store_id)
);
CREATE INDEX vector_stores_in_order ON agents.vector_stores (space_id, created_at, vector_store_id);
CREATE INDEX vector_stores_deleting ON agents.vector_stores (updated_at) WHERE status = 'deleting';
