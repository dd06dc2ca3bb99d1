-- When a store was last searched, to within some seconds: while nobody searches it, rows that come in need no index yet.
ALTER TABLE agents.vector_store_upkeep ADD COLUMN searched_at timestamptz;
