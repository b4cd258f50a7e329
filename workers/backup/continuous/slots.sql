-- Statements of continuous backup for a superuser's session.

-- name: server
-- The timeline is that of the file that is being written: the control file has it only after the first checkpoint.
select s.system_identifier::pg_catalog.text as system,
  ('x' operator(pg_catalog.||) pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8))
    ::pg_catalog.bit(32)::pg_catalog.int4 as timeline,
  pg_catalog.current_setting('server_version_num')::pg_catalog.int4 as version,
  (select setting::pg_catalog.int8 from pg_catalog.pg_settings where name operator(pg_catalog.=) 'wal_segment_size') as segment_size,
  pg_catalog.clock_timestamp() as now, pg_catalog.current_setting('data_directory') as folder
from pg_catalog.pg_control_system() as s

-- name: slots
select slot_name::pg_catalog.text as name, restart_lsn::pg_catalog.text as restart_lsn, wal_status
from pg_catalog.pg_replication_slots
where slot_type operator(pg_catalog.=) 'physical' and pg_catalog.starts_with(slot_name::pg_catalog.text, $1)

-- name: create_slot
-- Reserves the log at once, and returns from where on it is kept.
select lsn::pg_catalog.text from pg_catalog.pg_create_physical_replication_slot($1, true, false)

-- name: drop_slot
select pg_catalog.pg_drop_replication_slot($1)

-- name: slot_state
select wal_status, pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_flush_lsn(), restart_lsn)::pg_catalog.int8 as kept
from pg_catalog.pg_replication_slots where slot_name::pg_catalog.text operator(pg_catalog.=) $1
