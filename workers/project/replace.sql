-- Putting one database in the place of another while the platform runs (replace.py). All of it is asked on a connection to
-- template1, so that no session of the databases in question is ours.

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
-- What everybody may do in a database; a new one in its place gets the same.
select privilege
from pg_catalog.unnest(array['CONNECT', 'TEMPORARY']) as privilege
where pg_catalog.has_database_privilege('public', $1::pg_catalog.text, privilege)

-- name: end_sessions
-- Ends every session of these databases, those that read the log too; returns how many there were.
select pg_catalog.count(pg_catalog.pg_terminate_backend(pid)) from pg_catalog.pg_stat_activity
where datname = any($1::pg_catalog.text[]) and pid operator(pg_catalog.<>) pg_catalog.pg_backend_pid()

-- name: drop_slots
-- A database with a slot cannot be dropped; who reads makes a new one.
select pg_catalog.pg_drop_replication_slot(slot_name) from pg_catalog.pg_replication_slots
where database = $1 and not active

-- name: lost_logins
-- Logins that were made for work in a database which is gone; the number in the name is that of the database. $1: how the
-- names of such logins begin.
select r.rolname::pg_catalog.text as name
from pg_catalog.pg_roles as r
cross join pg_catalog.unnest($1::pg_catalog.text[]) as prefix
where pg_catalog.starts_with(r.rolname, prefix)
  and pg_catalog.split_part(pg_catalog.substr(r.rolname, pg_catalog.length(prefix) + 1), '_', 1) ~ '^[0-9]+$'
  and not exists (
    select from pg_catalog.pg_database as d
    where d.oid::pg_catalog.text
      = pg_catalog.split_part(pg_catalog.substr(r.rolname, pg_catalog.length(prefix) + 1), '_', 1))
