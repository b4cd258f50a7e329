-- What migrate.py asks and does beside the migrations themselves.

-- name: applied
-- The migrations that this database has. Fails where there is no history yet.
select series, version, checksum from headwater.migrations

-- name: make_history
-- The history, and what the settings decided last (assertions.py). Only the superuser looks into them.
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
-- One at a time on this server, until the transaction ends: roles and parameters belong to all databases. Readers, and so
-- logins, are not kept waiting.
lock table pg_catalog.pg_authid in share row exclusive mode

-- name: mark
-- What the platform's event triggers would do, which do not fire here: the schema changed (platform/0018).
select
  pg_catalog.pg_advisory_xact_lock_shared(1751474797, 1),
  pg_catalog.pg_logical_emit_message(true, 'headwater', 'schema'),
  pg_catalog.pg_notify('pgrst', 'reload schema')

-- name: write_to_disk
-- The commit of this transaction, which has something to write, writes all before it.
set local synchronous_commit = on

-- name: record
insert into headwater.migrations (series, version, name, checksum) values ($1, $2, $3, $4)
