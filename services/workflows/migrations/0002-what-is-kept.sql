-- 0001 was edited in place for some hours: databases that were made meanwhile have parts of this already.

-- Since when a run is too old to be retried: logs, events, metrics, artifacts and workspace go, and are gone when
-- `results_removed_at` is set. It is empty again after a retry.
ALTER TABLE workflows.runs ADD COLUMN IF NOT EXISTS expired_at timestamptz;
UPDATE workflows.runs SET results_removed_at = NULL WHERE results_removed_at < completed_at OR completed_at IS NULL;
-- Their workspaces are still there: the next round removes them.
UPDATE workflows.runs SET expired_at = results_removed_at, results_removed_at = NULL
 WHERE expired_at IS NULL AND results_removed_at IS NOT NULL;
ALTER TABLE workflows.runs DROP CONSTRAINT IF EXISTS runs_check1,
  ADD CONSTRAINT runs_check1 CHECK (expired_at IS NULL OR completed_at IS NOT NULL);
DROP INDEX IF EXISTS workflows.runs_with_results;
CREATE INDEX runs_with_results ON workflows.runs (completed_at)
  WHERE completed_at IS NOT NULL AND results_removed_at IS NULL;

-- Lists that are filtered, by any of the three together, are merged from those of each stage and status.
DROP INDEX IF EXISTS workflows.runs_by_status, workflows.runs_by_stage, workflows.runs_by_version, workflows.runs_by_state;
CREATE INDEX runs_by_state ON workflows.runs (space_id, workflow_id, stage, status, run_id DESC);
CREATE INDEX runs_by_version ON workflows.runs (space_id, workflow_id, version_id, stage, status, run_id DESC);

-- Bytes of a space's artifacts: nobody adds up a hundred thousand rows to know whether one more has room.
CREATE TABLE IF NOT EXISTS workflows.artifact_use (
  space_id uuid PRIMARY KEY REFERENCES portal.spaces ON DELETE CASCADE,
  bytes bigint NOT NULL
);
INSERT INTO workflows.artifact_use (space_id, bytes)
SELECT space_id, sum(size) FROM workflows.run_artifacts JOIN portal.spaces USING (space_id) GROUP BY space_id
ON CONFLICT DO NOTHING;

CREATE OR REPLACE FUNCTION workflows.count_new_artifacts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO workflows.artifact_use AS known (space_id, bytes)
  SELECT space_id, sum(size) FROM added GROUP BY space_id
  ON CONFLICT (space_id) DO UPDATE SET bytes = known.bytes + excluded.bytes;
  RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER count_new_artifacts AFTER INSERT ON workflows.run_artifacts
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION workflows.count_new_artifacts();

-- An UPDATE: the space of deleted artifacts may be gone with its row.
CREATE OR REPLACE FUNCTION workflows.count_deleted_artifacts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE workflows.artifact_use known SET bytes = known.bytes - gone.bytes
    FROM (SELECT space_id, sum(size) AS bytes FROM removed GROUP BY space_id) gone
   WHERE known.space_id = gone.space_id;
  RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER count_deleted_artifacts AFTER DELETE ON workflows.run_artifacts
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION workflows.count_deleted_artifacts();

CREATE OR REPLACE FUNCTION workflows.count_changed_artifact() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE workflows.artifact_use SET bytes = bytes + NEW.size - OLD.size WHERE space_id = NEW.space_id;
  RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER count_changed_artifact AFTER UPDATE ON workflows.run_artifacts
  FOR EACH ROW WHEN (OLD.size <> NEW.size) EXECUTE FUNCTION workflows.count_changed_artifact();

-- All tasks that have ended in this attempt have ended well.
ALTER TABLE workflows.local_runs ADD COLUMN IF NOT EXISTS is_good boolean NOT NULL DEFAULT true;
UPDATE workflows.local_runs run SET is_good = false
 WHERE is_good AND EXISTS (SELECT FROM workflows.local_tasks task
                            WHERE (task.space_id, task.run_id, task.attempt) = (run.space_id, run.run_id, run.attempt)
                              AND task.status IN ('Failed', 'Skipped', 'Cancelled'));
