-- A deleted space is closed at once, and can be brought back until remove_after. Then its data goes; the row itself stays
-- for the costs, which are kept for the books.
ALTER TABLE portal.spaces
  ADD COLUMN deleted_at timestamptz,
  ADD COLUMN deleted_by_id text,
  ADD COLUMN deleted_by_name text,
  ADD COLUMN remove_after timestamptz,
  ADD COLUMN removed_at timestamptz,
  ADD CHECK ((deleted_at IS NULL) = (remove_after IS NULL)),
  ADD CHECK (removed_at IS NULL OR deleted_at IS NOT NULL);
CREATE INDEX spaces_deleted ON portal.spaces (remove_after) WHERE deleted_at IS NOT NULL AND removed_at IS NULL;
