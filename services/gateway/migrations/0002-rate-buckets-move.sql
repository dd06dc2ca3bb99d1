-- The buckets of all services are in access.rate_buckets now; these only refill.
DROP TABLE gateway.rate_buckets;
