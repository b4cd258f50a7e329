-- Databases for tests (databases_for_tests.py), on a server that is removed with them. All run as its superuser but `pgtap`.

-- name: pgtap
create extension if not exists pgtap with schema extensions

-- name: password
-- The statement that sets the password of role postgres.
select pg_catalog.format('alter role postgres login password %L', $1::text)

-- name: alone
select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity
where datname operator(pg_catalog.=) $1 and pid operator(pg_catalog.<>) pg_catalog.pg_backend_pid()

-- name: settings
-- What `alter database ... set` and `alter role ... in database ... set` say of one database, for its copy.
insert into pg_catalog.pg_db_role_setting (setdatabase, setrole, setconfig)
select (select oid from pg_catalog.pg_database where datname = $2), setrole, setconfig
from pg_catalog.pg_db_role_setting where setdatabase = (select oid from pg_catalog.pg_database where datname = $1)

-- name: rights
update pg_catalog.pg_database set datacl = source.datacl, datdba = source.datdba
from pg_catalog.pg_database as source where source.datname = $1 and pg_catalog.pg_database.datname = $2
