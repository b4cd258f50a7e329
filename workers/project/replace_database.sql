-- Statements that replace a database while the platform runs (replace_database.py). They run on a connection to template1, so that
-- no session of the replaced databases is ours.

-- name: settle
-- A server that lost its client (power, network) ends the session within a minute, and with it the lock.
select
  pg_catalog.set_config('tcp_keepalives_idle', '20', false),
  pg_catalog.set_config('tcp_keepalives_interval', '10', false),
  pg_catalog.set_config('tcp_keepalives_count', '3', false)

-- name: lock
-- One replacement at a time on this server, until the connection closes.
select pg_catalog.pg_try_advisory_lock($1)

-- name: databases
select datname::pg_catalog.text as name from pg_catalog.pg_database where datname = any($1::pg_catalog.text[])

-- name: public_rights
-- Rights of PUBLIC on a database; the new one gets the same.
select privilege
from pg_catalog.unnest(array['CONNECT', 'TEMPORARY']) as privilege
where pg_catalog.has_database_privilege('public', $1::pg_catalog.text, privilege)

-- name: end_sessions
-- Terminates every session of these databases, including WAL readers; returns how many there were.
select pg_catalog.count(pg_catalog.pg_terminate_backend(pid)) from pg_catalog.pg_stat_activity
where datname = any($1::pg_catalog.text[]) and pid operator(pg_catalog.<>) pg_catalog.pg_backend_pid()

-- name: drop_slots
-- A database with a replication slot cannot be dropped; the WAL reader creates a new slot.
select pg_catalog.pg_drop_replication_slot(slot_name) from pg_catalog.pg_replication_slots
where database = $1 and not active

-- name: lost_logins
-- Throwaway logins of databases that do not exist any more; the number in the name is the database's oid. $1: prefixes of the
-- names of such logins.
select r.rolname::pg_catalog.text as name
from pg_catalog.pg_roles as r
cross join pg_catalog.unnest($1::pg_catalog.text[]) as prefix
where pg_catalog.starts_with(r.rolname, prefix)
  and pg_catalog.split_part(pg_catalog.substr(r.rolname, pg_catalog.length(prefix) + 1), '_', 1) ~ '^[0-9]+$'
  and not exists (
    select from pg_catalog.pg_database as d
    where d.oid::pg_catalog.text
      = pg_catalog.split_part(pg_catalog.substr(r.rolname, pg_catalog.length(prefix) + 1), '_', 1))
