-- Every id that stands for a person or a machine, and for which of the two: an author is named by the id alone. A row
-- stays when its client or account is gone, so an id is never given again.
create table identity.principal_ids (
  principal_id text primary key,
  kind text not null check (kind in ('person', 'client')),
  claimed_at timestamptz not null default now()
);

insert into identity.principal_ids (principal_id, kind) select client_id, 'client' from identity.clients;
-- Where both were made already, both stay.
insert into identity.principal_ids (principal_id, kind) select qx_id, 'person' from identity.accounts
  on conflict do nothing;
