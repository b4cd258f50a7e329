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
  ('x' || pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8))::bit(32)::int4 as timeline,
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
  coalesce((pg_catalog.to_jsonb(s) ->> 'failover')::bool, true) as survives_failover, -- older servers have no such column
  coalesce((s.confirmed_flush_lsn - '0/0')::int8, 0) as confirmed,
  coalesce((pg_catalog.pg_current_wal_lsn() - s.restart_lsn)::int8, 0) as held_bytes,
  (select setting::int8 from pg_catalog.pg_settings where name = 'max_slot_wal_keep_size') as limit_mb
from pg_catalog.pg_replication_slots as s
where s.slot_name = $1

-- name: make
-- A permanent slot; it waits for transactions that are running now.
select (lsn - '0/0')::int8 as confirmed from pg_catalog.pg_create_logical_replication_slot($1, 'pgoutput')

-- name: make_for_standbys
-- The same, kept on standbys too.
select (lsn - '0/0')::int8 as confirmed
from pg_catalog.pg_create_logical_replication_slot($1, 'pgoutput', failover => true)

-- name: drop
select pg_catalog.pg_drop_replication_slot($1)

-- name: end_reader
-- Terminates the reader of the slot: it is a former leader.
select pg_catalog.pg_terminate_backend(active_pid)
from pg_catalog.pg_replication_slots
where slot_name = $1 and active_pid is not null

-- name: database
select pg_catalog.current_database()::text

-- name: snapshot
-- The transactions that a statement that starts now sees.
select pg_catalog.pg_current_snapshot()::text

-- name: awaited
-- Whether commits wait until the reader of the slot has them. A role that may not see the state of others uses the setting.
select exists (
  select
  from pg_catalog.pg_replication_slots as s
  join pg_catalog.pg_stat_replication as r on r.pid = s.active_pid
  where s.slot_name = $1
    and coalesce(
      r.sync_state in ('sync', 'quorum'),
      pg_catalog.current_setting('synchronous_standby_names') ~ '[*]|headwater changes'
    )
)

-- name: stream
-- Which stream the slot was read into last.
select stream from headwater.streams_of_changes where slot = $1

-- name: note_stream
-- Stores the stream that the slot is read into.
insert into headwater.streams_of_changes (slot, stream) values ($1, $2)
on conflict (slot) do update set stream = excluded.stream
