-- The words that the chunks of a store hold, for searches with misspelt words. Words are noted before their rows are
-- written, so this is the stores' words or more; after many deletes a new epoch is built beside the old one.

CREATE TABLE agents.vocabularies (
  space_id uuid NOT NULL,
  vector_store_id uuid NOT NULL,
  epoch integer NOT NULL DEFAULT 0,
  -- Set while the epoch is being built: until then words of the one before count too.
  begun_at timestamptz,
  PRIMARY KEY (space_id, vector_store_id),
  FOREIGN KEY (space_id, vector_store_id) REFERENCES agents.vector_stores ON DELETE CASCADE
);

-- `size` is the word's length in UTF-16 units and `letters` a set of its letters in 31 bits: both cut down what a
-- search for similar words has to look at.
CREATE TABLE agents.vocabulary_words (
  space_id uuid NOT NULL,
  vector_store_id uuid NOT NULL,
  epoch integer NOT NULL,
  size smallint NOT NULL,
  word text COLLATE "C" NOT NULL,
  stem text COLLATE "C" NOT NULL,
  letters integer NOT NULL,
  PRIMARY KEY (space_id, vector_store_id, epoch, size, word) INCLUDE (stem, letters),
  FOREIGN KEY (space_id, vector_store_id) REFERENCES agents.vocabularies ON DELETE CASCADE
);
-- One number for store and stem. An index that began with the store would do, did planners not take the store alone
-- for a few rows: without statistics, and with those of columns that depend on each other.
CREATE INDEX vocabulary_words_by_stem
  ON agents.vocabulary_words (hashtextextended(stem, hashtextextended(vector_store_id::text, 0)));
