-- Statements of replicas/, by the login of the data pools.

-- name: primary
-- Where the log ends that the primary has acknowledged or is about to, and which cluster and timeline it is.
select
  pg_catalog.pg_is_in_recovery(),
  case when not pg_catalog.pg_is_in_recovery() then pg_catalog.pg_current_wal_insert_lsn()::pg_catalog.text end,
  (select system_identifier::pg_catalog.text from pg_catalog.pg_control_system()),
  case when not pg_catalog.pg_is_in_recovery()
    then pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 1, 8) end

-- name: position
-- Where the log ends after a commit.
select pg_catalog.pg_current_wal_insert_lsn()::pg_catalog.text

-- name: replica
-- Up to where a replica has replayed the log, of which cluster, and the newest timeline that its control file knows.
select
  pg_catalog.pg_is_in_recovery(),
  pg_catalog.pg_last_wal_replay_lsn()::pg_catalog.text,
  (select system_identifier::pg_catalog.text from pg_catalog.pg_control_system()),
  pg_catalog.lpad(pg_catalog.upper(pg_catalog.to_hex(greatest(
    (select timeline_id from pg_catalog.pg_control_checkpoint()),
    (select min_recovery_end_timeline from pg_catalog.pg_control_recovery())))), 8, '0')
