-- Making the database anew while the platform runs (reset.py). All of it is asked on a connection to template1.

-- name: lock
-- One reset at a time on this server, until the connection closes.
select pg_catalog.pg_try_advisory_lock($1)

-- name: databases
select datname::text as name from pg_catalog.pg_database where datname = any($1::text[])

-- name: end_sessions
-- Ends every session of a database, those that read its log too; gives how many there were.
select pg_catalog.count(pg_catalog.pg_terminate_backend(pid)) from pg_catalog.pg_stat_activity
where datname operator(pg_catalog.=) $1 and pid operator(pg_catalog.<>) pg_catalog.pg_backend_pid()

-- name: drop_slots
-- A database with a slot cannot be dropped; who reads makes a new one.
select pg_catalog.pg_drop_replication_slot(slot_name) from pg_catalog.pg_replication_slots
where database = $1 and not active
