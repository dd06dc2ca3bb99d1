-- A key stands for its run for 24 hours, deleted or not: what retries with it must not start the work again.
ALTER TABLE workflows.idempotency_keys
  DROP CONSTRAINT idempotency_keys_space_id_run_id_fkey,
  -- The key is claimed before the workflow is looked for.
  ADD FOREIGN KEY (space_id, workflow_id) REFERENCES workflows.workflows ON DELETE CASCADE
    DEFERRABLE INITIALLY DEFERRED;
DROP INDEX workflows.idempotency_keys_of_runs;
