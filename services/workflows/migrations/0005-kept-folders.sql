-- Runs that failed and can be retried, the oldest first: their folders go first where a space has too much.
CREATE INDEX local_runs_kept ON workflows.local_runs (folder, space_id, run_id)
  WHERE state = 'Ended' AND NOT is_good AND NOT cancel_requested;
