-- Why the last tick of a schedule made no run; null when it made one. Each reason is told once.
ALTER TABLE workflows.triggers ADD COLUMN refusal text;
