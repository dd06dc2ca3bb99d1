CREATE SCHEMA IF NOT EXISTS workflows;

-- Every key begins with the space. Ids that clients choose are text, those of runs are UUIDv7. `size` is what a row
-- weighs when it is listed, in bytes. What clients wrote is json, not jsonb: it keeps the order of their keys.

CREATE TABLE workflows.workflows (
  space_id uuid NOT NULL REFERENCES portal.spaces ON DELETE CASCADE,
  workflow_id text NOT NULL,
  name text NOT NULL,
  -- Runs of this workflow at once; null: as many as the space may have.
  max_parallel_runs integer CHECK (max_parallel_runs BETWEEN 1 AND 1000),
  row_version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (space_id, workflow_id)
);
CREATE INDEX workflows_in_order ON workflows.workflows (space_id, created_at, workflow_id);

CREATE TABLE workflows.versions (
  space_id uuid NOT NULL,
  workflow_id text NOT NULL,
  version_id text NOT NULL,
  -- As the client wrote them: template versions may float.
  tasks json NOT NULL,
  row_version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  size integer NOT NULL GENERATED ALWAYS AS (octet_length(tasks::text)) STORED,
  PRIMARY KEY (space_id, workflow_id, version_id),
  FOREIGN KEY (space_id, workflow_id) REFERENCES workflows.workflows ON DELETE CASCADE
);
CREATE INDEX versions_in_order ON workflows.versions (space_id, workflow_id, created_at, version_id);

CREATE TABLE workflows.configurations (
  space_id uuid NOT NULL,
  workflow_id text NOT NULL,
  configuration_id text NOT NULL,
  data json NOT NULL,
  row_version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  size integer NOT NULL GENERATED ALWAYS AS (octet_length(data::text)) STORED,
  PRIMARY KEY (space_id, workflow_id, configuration_id),
  FOREIGN KEY (space_id, workflow_id) REFERENCES workflows.workflows ON DELETE CASCADE
);
CREATE INDEX configurations_in_order
  ON workflows.configurations (space_id, workflow_id, created_at, configuration_id);

-- A version takes its assignments with it; a configuration cannot go while it is bound.
CREATE TABLE workflows.stage_assignments (
  space_id uuid NOT NULL,
  workflow_id text NOT NULL,
  stage text NOT NULL CHECK (stage IN ('test', 'int', 'e2e', 'prod')),
  version_id text NOT NULL,
  configuration_id text,
  row_version integer NOT NULL DEFAULT 1,
  assigned_at timestamptz NOT NULL DEFAULT now(),
  assigned_by text,
  PRIMARY KEY (space_id, workflow_id, stage),
  FOREIGN KEY (space_id, workflow_id, version_id) REFERENCES workflows.versions ON DELETE CASCADE,
  FOREIGN KEY (space_id, workflow_id, configuration_id)
    REFERENCES workflows.configurations ON DELETE NO ACTION DEFERRABLE INITIALLY IMMEDIATE
);
CREATE INDEX assignments_of_versions ON workflows.stage_assignments (space_id, workflow_id, version_id);
CREATE INDEX assignments_of_configurations
  ON workflows.stage_assignments (space_id, workflow_id, configuration_id);

-- Values of secrets are sealed with the master key, purpose workflows/secret/<space>/<name>.
CREATE TABLE workflows.secrets (
  space_id uuid NOT NULL REFERENCES portal.spaces ON DELETE CASCADE,
  name text NOT NULL,
  sealed bytea NOT NULL,
  -- Names the row in one column, for when everything is sealed anew.
  secret_id text NOT NULL UNIQUE GENERATED ALWAYS AS (space_id::text || '/' || name) STORED,
  row_version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  updated_by text NOT NULL,
  PRIMARY KEY (space_id, name)
);

-- Only the hash of a webhook's secret is kept: whoever calls brings the secret, which is the key of the signature too.
CREATE TABLE workflows.triggers (
  space_id uuid NOT NULL,
  workflow_id text NOT NULL,
  trigger_id text NOT NULL,
  type text NOT NULL CHECK (type IN ('webhook', 'schedule')),
  stage text NOT NULL CHECK (stage IN ('test', 'int', 'e2e', 'prod')),
  enabled boolean NOT NULL,
  signature_validation boolean NOT NULL DEFAULT false,
  schedule text,
  timezone text NOT NULL DEFAULT 'UTC',
  secret_hash bytea UNIQUE,
  -- The next tick of an enabled schedule; null for others.
  next_at timestamptz,
  row_version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (space_id, workflow_id, trigger_id),
  FOREIGN KEY (space_id, workflow_id) REFERENCES workflows.workflows ON DELETE CASCADE,
  CHECK ((type = 'webhook') = (secret_hash IS NOT NULL)),
  CHECK ((type = 'schedule') = (schedule IS NOT NULL))
);
CREATE INDEX triggers_in_order ON workflows.triggers (space_id, workflow_id, created_at, trigger_id);
CREATE INDEX triggers_due ON workflows.triggers (next_at) WHERE next_at IS NOT NULL;

-- Versions and configurations may be gone later: a run keeps what it used. `plan` holds the tasks with their exact
-- template releases and resolved arguments; secrets stand in it as references.
CREATE TABLE workflows.runs (
  space_id uuid NOT NULL,
  workflow_id text NOT NULL,
  run_id uuid NOT NULL,
  stage text NOT NULL,
  version_id text NOT NULL,
  configuration_id text,
  resolved_configuration jsonb NOT NULL,
  plan jsonb NOT NULL,
  trigger_id text,
  engine text NOT NULL,
  status text NOT NULL CHECK (status IN ('Pending', 'Running', 'Succeeded', 'Failed', 'Cancelling', 'Cancelled')),
  message text NOT NULL DEFAULT '',
  -- Grows with each retry.
  attempt integer NOT NULL DEFAULT 1,
  -- The attempt that the engine has taken over; less than `attempt` until it has.
  submitted_attempt integer NOT NULL DEFAULT 0,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  completed_at timestamptz,
  -- When logs, events, metrics and artifacts were removed for their age; before `completed_at` after a later retry.
  results_removed_at timestamptz,
  -- Grows with each change of the run or one of its tasks: who changes them names the one that it saw.
  row_version integer NOT NULL DEFAULT 1,
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (space_id, run_id),
  FOREIGN KEY (space_id, workflow_id) REFERENCES workflows.workflows ON DELETE CASCADE,
  CHECK ((completed_at IS NOT NULL) = (status IN ('Succeeded', 'Failed', 'Cancelled')))
);
CREATE INDEX runs_in_order ON workflows.runs (space_id, workflow_id, run_id DESC);
-- Lists that are filtered read no more than they show.
CREATE INDEX runs_by_status ON workflows.runs (space_id, workflow_id, status, run_id DESC);
CREATE INDEX runs_by_version ON workflows.runs (space_id, workflow_id, version_id, run_id DESC);
CREATE INDEX runs_by_stage ON workflows.runs (space_id, workflow_id, stage, run_id DESC);
CREATE INDEX runs_unsubmitted ON workflows.runs (updated_at)
  WHERE submitted_attempt < attempt AND status IN ('Pending', 'Running', 'Cancelling');
CREATE INDEX runs_active ON workflows.runs (space_id, workflow_id, status)
  WHERE status IN ('Pending', 'Running', 'Cancelling');
CREATE INDEX runs_active_in_order ON workflows.runs (space_id, run_id)
  WHERE status IN ('Pending', 'Running', 'Cancelling');
CREATE INDEX runs_with_results ON workflows.runs (completed_at)
  WHERE completed_at IS NOT NULL AND (results_removed_at IS NULL OR results_removed_at < completed_at);

-- How many runs ended how: nobody counts a hundred thousand rows to say how long a list is. Those that have not ended
-- are few, and are counted.
CREATE TABLE workflows.run_counts (
  space_id uuid NOT NULL,
  workflow_id text NOT NULL,
  version_id text NOT NULL,
  stage text NOT NULL,
  status text NOT NULL,
  runs bigint NOT NULL,
  PRIMARY KEY (space_id, workflow_id, version_id, stage, status),
  FOREIGN KEY (space_id, workflow_id) REFERENCES workflows.workflows ON DELETE CASCADE
);

CREATE FUNCTION workflows.count_new_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO workflows.run_counts AS known (space_id, workflow_id, version_id, stage, status, runs)
  SELECT space_id, workflow_id, version_id, stage, status, count(*) FROM added WHERE completed_at IS NOT NULL
   GROUP BY space_id, workflow_id, version_id, stage, status
  ON CONFLICT (space_id, workflow_id, version_id, stage, status) DO UPDATE SET runs = known.runs + excluded.runs;
  RETURN NULL;
END $$;
CREATE TRIGGER count_new_runs AFTER INSERT ON workflows.runs REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION workflows.count_new_runs();

-- An UPDATE: the workflow of deleted runs may be gone with its counts.
CREATE FUNCTION workflows.count_deleted_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE workflows.run_counts known SET runs = known.runs - gone.runs
    FROM (SELECT space_id, workflow_id, version_id, stage, status, count(*) AS runs FROM removed
           WHERE completed_at IS NOT NULL GROUP BY space_id, workflow_id, version_id, stage, status) gone
   WHERE (known.space_id, known.workflow_id, known.version_id, known.stage, known.status)
       = (gone.space_id, gone.workflow_id, gone.version_id, gone.stage, gone.status);
  RETURN NULL;
END $$;
CREATE TRIGGER count_deleted_runs AFTER DELETE ON workflows.runs REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION workflows.count_deleted_runs();

CREATE FUNCTION workflows.count_changed_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.completed_at IS NOT NULL THEN
    UPDATE workflows.run_counts SET runs = runs - 1
     WHERE (space_id, workflow_id, version_id, stage, status)
         = (OLD.space_id, OLD.workflow_id, OLD.version_id, OLD.stage, OLD.status);
  END IF;
  IF NEW.completed_at IS NOT NULL THEN
    INSERT INTO workflows.run_counts AS known (space_id, workflow_id, version_id, stage, status, runs)
    VALUES (NEW.space_id, NEW.workflow_id, NEW.version_id, NEW.stage, NEW.status, 1)
    ON CONFLICT (space_id, workflow_id, version_id, stage, status) DO UPDATE SET runs = known.runs + 1;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER count_changed_run AFTER UPDATE ON workflows.runs
  FOR EACH ROW WHEN (OLD.status <> NEW.status AND (OLD.completed_at IS NOT NULL OR NEW.completed_at IS NOT NULL))
  EXECUTE FUNCTION workflows.count_changed_run();

CREATE TABLE workflows.run_tasks (
  space_id uuid NOT NULL,
  run_id uuid NOT NULL,
  name text NOT NULL,
  position integer NOT NULL,
  dependencies text[] NOT NULL,
  attempt integer NOT NULL DEFAULT 1,
  status text NOT NULL DEFAULT 'Pending'
    CHECK (status IN ('Pending', 'Running', 'Succeeded', 'Failed', 'Skipped', 'Cancelled')),
  message text NOT NULL DEFAULT '',
  started_at timestamptz,
  completed_at timestamptz,
  PRIMARY KEY (space_id, run_id, name),
  FOREIGN KEY (space_id, run_id) REFERENCES workflows.runs ON DELETE CASCADE
);

-- Kept 24 hours. The body's hash tells a repetition from another request.
CREATE TABLE workflows.idempotency_keys (
  space_id uuid NOT NULL,
  workflow_id text NOT NULL,
  operation text NOT NULL,
  key text NOT NULL,
  request_hash bytea NOT NULL,
  run_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (space_id, workflow_id, operation, key),
  -- The key is claimed before its run is made.
  FOREIGN KEY (space_id, run_id) REFERENCES workflows.runs ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX idempotency_keys_of_runs ON workflows.idempotency_keys (space_id, run_id);
CREATE INDEX idempotency_keys_by_age ON workflows.idempotency_keys (created_at);

-- Changes of a run and its tasks, in order, for followers.
CREATE TABLE workflows.run_events (
  space_id uuid NOT NULL,
  run_id uuid NOT NULL,
  seq bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  event jsonb NOT NULL,
  PRIMARY KEY (space_id, run_id, seq),
  FOREIGN KEY (space_id, run_id) REFERENCES workflows.runs ON DELETE CASCADE
);

-- Pieces of up to 64 KiB. `seq` grows in the order of commits within a run, so a follower that has seen one has seen all
-- before it: whoever appends holds the run's advisory lock.
CREATE TABLE workflows.run_logs (
  space_id uuid NOT NULL,
  run_id uuid NOT NULL,
  seq bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  task text NOT NULL,
  attempt integer NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Bytes of this attempt's log before this piece.
  start bigint NOT NULL,
  text text NOT NULL,
  PRIMARY KEY (space_id, run_id, seq),
  FOREIGN KEY (space_id, run_id) REFERENCES workflows.runs ON DELETE CASCADE
);
CREATE INDEX run_logs_of_tasks ON workflows.run_logs (space_id, run_id, task, attempt, seq);

CREATE TABLE workflows.run_metrics (
  space_id uuid NOT NULL,
  run_id uuid NOT NULL,
  task text NOT NULL,
  attempt integer NOT NULL,
  seq integer NOT NULL,
  name text NOT NULL,
  step bigint,
  value double precision NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (space_id, run_id, task, attempt, seq),
  FOREIGN KEY (space_id, run_id) REFERENCES workflows.runs ON DELETE CASCADE
);

-- The files themselves are in the data folder or in object storage, by `blob`.
CREATE TABLE workflows.run_artifacts (
  space_id uuid NOT NULL,
  run_id uuid NOT NULL,
  task text NOT NULL,
  path text NOT NULL COLLATE "C",
  attempt integer NOT NULL,
  blob uuid NOT NULL,
  size bigint NOT NULL,
  media_type text NOT NULL,
  sha256 bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (space_id, run_id, task, path),
  FOREIGN KEY (space_id, run_id) REFERENCES workflows.runs ON DELETE CASCADE
);

-- Files that a job removes from the storage. One being written stands here too, so that a crash leaves none behind.
CREATE TABLE workflows.blobs_to_remove (
  space_id uuid NOT NULL,
  blob uuid NOT NULL PRIMARY KEY,
  not_before timestamptz NOT NULL
);
CREATE INDEX blobs_to_remove_when ON workflows.blobs_to_remove (not_before);

-- However a row goes, with its run, workflow or space too, its file is not forgotten.
CREATE FUNCTION workflows.forget_artifact() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO workflows.blobs_to_remove (space_id, blob, not_before) VALUES (OLD.space_id, OLD.blob, now());
  RETURN NULL;
END $$;
CREATE TRIGGER artifact_gone AFTER DELETE ON workflows.run_artifacts
  FOR EACH ROW EXECUTE FUNCTION workflows.forget_artifact();
CREATE TRIGGER artifact_replaced AFTER UPDATE OF blob ON workflows.run_artifacts
  FOR EACH ROW WHEN (OLD.blob IS DISTINCT FROM NEW.blob) EXECUTE FUNCTION workflows.forget_artifact();

-- What the local engine knows by itself, as Argo keeps its own Workflow objects: the present attempt of a run.
CREATE TABLE workflows.local_runs (
  space_id uuid NOT NULL,
  run_id uuid NOT NULL,
  workflow_id text NOT NULL,
  attempt integer NOT NULL,
  -- The folder that the run's workspace is in: processes that share it share its runs.
  folder uuid NOT NULL,
  -- Waiting: its workflow has as many runs at once as it may.
  state text NOT NULL CHECK (state IN ('Waiting', 'Open', 'Ended')),
  -- Tasks that are Pending or Running.
  unfinished integer NOT NULL,
  cancel_requested boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (space_id, run_id),
  FOREIGN KEY (space_id, run_id) REFERENCES workflows.runs ON DELETE CASCADE
);
CREATE INDEX local_runs_waiting ON workflows.local_runs (space_id, workflow_id, run_id) WHERE state = 'Waiting';
CREATE INDEX local_runs_open ON workflows.local_runs (space_id, workflow_id) WHERE state = 'Open';

CREATE TABLE workflows.local_tasks (
  space_id uuid NOT NULL,
  run_id uuid NOT NULL,
  name text NOT NULL,
  position integer NOT NULL,
  attempt integer NOT NULL,
  folder uuid NOT NULL,
  -- Dependencies that have not ended well yet, and one more while the run waits; ready at 0.
  waiting integer NOT NULL,
  dependents text[] NOT NULL,
  spec jsonb NOT NULL,
  status text NOT NULL CHECK (status IN ('Pending', 'Running', 'Succeeded', 'Failed', 'Skipped', 'Cancelled')),
  message text NOT NULL DEFAULT '',
  -- Who runs it, until when others take it for alive, and how often somebody began: what was begun by another counts
  -- no more.
  worker uuid,
  lease_until timestamptz,
  starts integer NOT NULL DEFAULT 0,
  started_at timestamptz,
  completed_at timestamptz,
  PRIMARY KEY (space_id, run_id, name),
  FOREIGN KEY (space_id, run_id) REFERENCES workflows.local_runs ON DELETE CASCADE
);
CREATE INDEX local_tasks_ready ON workflows.local_tasks (folder, space_id, run_id, position)
  WHERE status = 'Pending' AND waiting = 0;
CREATE INDEX local_tasks_running ON workflows.local_tasks (worker, lease_until) WHERE status = 'Running';

-- Work that one process does for all: its name, who does it, and until when the others leave it alone.
CREATE TABLE workflows.leases (
  name text PRIMARY KEY,
  holder uuid NOT NULL,
  until timestamptz NOT NULL
);
