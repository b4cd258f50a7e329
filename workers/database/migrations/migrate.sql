-- Statements of migrate.py besides the migrations themselves.

-- name: applied
-- The migrations that were applied to this database. Fails if there is no history yet.
select series, version, checksum from headwater.migrations

-- name: make_history
-- The history, and the last decisions of the settings (settings_state.py). Only the superuser may read them.
create schema if not exists headwater;
create table if not exists headwater.migrations (
  series text not null,
  version int not null,
  name text not null,
  checksum text not null,
  applied_at timestamptz not null default pg_catalog.now(),
  primary key (series, version)
);
create table if not exists headwater.decisions (
  name text primary key,
  value text not null
);
revoke all on schema headwater from public

-- name: lock_database
-- One process at a time in this database, until its connection closes.
select pg_catalog.pg_advisory_lock($1)

-- name: lock_server
-- One transaction at a time on this server, because roles and parameters belong to all databases. Readers, and so logins, are
-- not blocked.
lock table pg_catalog.pg_authid in share row exclusive mode

-- name: mark
-- Announces that the schema changed, as the platform's event triggers do, which do not fire here (platform/0018, 0029). The
-- function is missing in a database that is being made: nobody looks for its lock there yet.
do $$
begin
  perform headwater.hold_schema();
exception when undefined_function or insufficient_privilege then
  null;
end $$;
select
  pg_catalog.pg_logical_emit_message(true, 'headwater', 'schema'),
  pg_catalog.pg_notify('pgrst', 'reload schema')

-- name: write_to_disk
-- The commit of this transaction flushes all earlier ones to disk, because it has something to write.
set local synchronous_commit = on

-- name: record
insert into headwater.migrations (series, version, name, checksum) values ($1, $2, $3, $4)
