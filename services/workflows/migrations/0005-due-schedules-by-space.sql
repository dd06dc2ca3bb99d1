-- Spaces take turns at ticks that are due; each one's oldest comes first. How many schedules a space has is counted here, too.
CREATE INDEX triggers_due_of_space ON workflows.triggers (space_id, next_at) WHERE next_at IS NOT NULL;
