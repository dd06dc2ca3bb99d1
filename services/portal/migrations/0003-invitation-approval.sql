-- An owner's invitation waits for a superuser's approval, and only then is there a token. Those that were sent before
-- stay as they were; how they were sent is not known, so they prove no address.
ALTER TABLE portal.invitations
  ADD COLUMN approved_at timestamptz,
  ADD COLUMN approved_by text,
  -- How the token went out: only by mail does it prove that its bearer reads mail at the address.
  ADD COLUMN delivery text CHECK (delivery IN ('mail', 'answer'));
UPDATE portal.invitations SET approved_at = created_at, approved_by = created_by_id, delivery = 'answer';
ALTER TABLE portal.invitations
  ADD CHECK ((approved_at IS NULL) = (delivery IS NULL)),
  ADD CHECK (accepted_at IS NULL OR approved_at IS NOT NULL);
CREATE INDEX invitations_waiting ON portal.invitations (created_at, invitation_id) WHERE approved_at IS NULL;
