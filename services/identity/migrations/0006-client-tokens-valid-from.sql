-- Disabling a client ends its tokens for good: enabled again, with another secret perhaps, it begins anew.
alter table identity.clients add column tokens_valid_from timestamptz;
update identity.clients set tokens_valid_from = now() where status = 'Disabled';
