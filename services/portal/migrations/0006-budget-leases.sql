-- What a process may spend of a budget without asking again. Another process sees it as spent until it is given back, or
-- its holder is silent for so long that it must have died. `subject_id` is a key's id, or the space's for its own budget.
CREATE TABLE portal.budget_leases (
  space_id uuid NOT NULL REFERENCES portal.spaces ON DELETE CASCADE,
  subject_id uuid NOT NULL,
  holder uuid NOT NULL,
  amount numeric NOT NULL CHECK (amount >= 0),
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (subject_id, holder)
);
