create schema if not exists platform;

-- One row once the first superusers are made: they are never made again, whoever is removed.
create table platform.first_start (
  only_row boolean primary key default true check (only_row),
  done_at timestamptz not null default now()
);
