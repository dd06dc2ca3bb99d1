-- Reports read the daily totals. Without this index an entry that grows with each use is changed in place.
DROP INDEX portal.cost_entries_by_day;
