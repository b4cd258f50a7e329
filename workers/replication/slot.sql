-- The replication slot (slot.py).

-- name: server
-- What must be true of the server and of the role, and which database this is.
select
  pg_catalog.current_setting('wal_level') as wal_level,
  r.rolreplication or r.rolsuper as may_replicate,
  current_user::text as role,
  pg_catalog.current_setting('server_version_num')::int as version,
  pg_catalog.current_database()::text as database,
  (select system_identifier::text from pg_catalog.pg_control_system()) as system,
  (pg_catalog.pg_current_wal_lsn() - '0/0')::int8 as lsn
from pg_catalog.pg_roles as r
where r.rolname = current_user

-- name: slot
-- Where the slot stands.
select
  s.database::text as database,
  s.plugin::text as plugin,
  s.active_pid,
  coalesce(s.wal_status, '') = 'lost' as is_lost,
  coalesce((s.confirmed_flush_lsn - '0/0')::int8, 0) as confirmed,
  coalesce((pg_catalog.pg_current_wal_lsn() - s.restart_lsn)::int8, 0) as held_bytes,
  (select setting::int8 from pg_catalog.pg_settings where name = 'max_slot_wal_keep_size') as limit_mb
from pg_catalog.pg_replication_slots as s
where s.slot_name = $1

-- name: make
-- A permanent slot; it waits for transactions that are running now.
select (lsn - '0/0')::int8 as confirmed from pg_catalog.pg_create_logical_replication_slot($1, 'pgoutput')

-- name: drop
select pg_catalog.pg_drop_replication_slot($1)

-- name: end_reader
-- Whoever reads the slot is not the leader any more.
select pg_catalog.pg_terminate_backend(active_pid)
from pg_catalog.pg_replication_slots
where slot_name = $1 and active_pid is not null

-- name: publications
-- Of these, the publications there are.
select pubname::text from pg_catalog.pg_publication where pubname = any($1::text[])

-- name: database
select pg_catalog.current_database()::text

-- name: snapshot
-- What a statement that begins now sees.
select pg_catalog.pg_current_snapshot()::text
