-- Lists read rows in batches by their weight in bytes, as those of the other tables are.
ALTER TABLE agents.vector_stores ADD COLUMN size integer NOT NULL GENERATED ALWAYS AS (
  octet_length(name) + coalesce(octet_length(description), 0) + octet_length(metadata::text)
) STORED;

-- The language that the store's texts are analysed in.
ALTER TABLE agents.vector_stores ADD COLUMN language text NOT NULL DEFAULT 'english';

-- What each store's files still need. `dirty_since`: written to since it was last looked at. `prune_after`: when files
-- that no reader can need any more may go. `deletions`: embeddings deleted since the vocabulary was last made.
-- `built_rows`: embeddings when the vector index was last made as a whole. One process at a time works on a store: it holds the lease, and renews it.
CREATE TABLE agents.vector_store_upkeep (
  space_id uuid NOT NULL,
  vector_store_id uuid NOT NULL,
  dirty_since timestamptz,
  prune_after timestamptz,
  deletions bigint NOT NULL DEFAULT 0,
  built_rows bigint NOT NULL DEFAULT 0,
  leased_until timestamptz,
  holder uuid,
  PRIMARY KEY (space_id, vector_store_id),
  FOREIGN KEY (space_id, vector_store_id) REFERENCES agents.vector_stores ON DELETE CASCADE
) WITH (fillfactor = 70);
CREATE INDEX vector_store_upkeep_dirty ON agents.vector_store_upkeep (dirty_since) WHERE dirty_since IS NOT NULL;
CREATE INDEX vector_store_upkeep_prune ON agents.vector_store_upkeep (prune_after) WHERE prune_after IS NOT NULL;
CREATE INDEX vector_store_upkeep_leased ON agents.vector_store_upkeep (leased_until) WHERE leased_until IS NOT NULL;

-- Whose embeddings lie where embeddings are kept. Only there are files without a store deleted: another database's
-- stores have files as well.
CREATE TABLE agents.retrieval_owner (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  owner uuid NOT NULL DEFAULT gen_random_uuid()
);
