-- Statements of throwaway_logins.py, for a superuser session (see superuser.sql about names).

-- name: describe_role
-- The role that a login is created for, with the settings that its sessions have; those of this database come last.
select
  r.rolsuper as is_superuser,
  pg_catalog.current_setting('server_version_num')::pg_catalog.int4 as version,
  (select d.oid::pg_catalog.text from pg_catalog.pg_database as d where d.datname = pg_catalog.current_database()) as database,
  array(
    select entry
    from pg_catalog.pg_db_role_setting as s
    cross join pg_catalog.unnest(s.setconfig) as entry
    where s.setrole = r.oid
      and s.setdatabase in (
        0, (select d.oid from pg_catalog.pg_database as d where d.datname = pg_catalog.current_database()))
    order by s.setdatabase
  ) as settings,
  array(select s.name from pg_catalog.pg_settings as s where s.context = 'user') as user_settings
from pg_catalog.pg_roles as r
where r.rolname = $1

-- name: create_login
select pg_catalog.format(
  'create role %I login noinherit nosuperuser nocreatedb nocreaterole noreplication nobypassrls connection limit %s '
  'valid until %L password %L',
  $1::pg_catalog.text, $2::pg_catalog.int4,
  pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => $3::pg_catalog.float8), $4::pg_catalog.text)

-- name: grant_role
-- From version 16 on the grant itself can say that the login may become the role and does not inherit its rights.
select pg_catalog.format(
  case when $3::pg_catalog.int4 >= 160000 then 'grant %I to %I with inherit false, set true' else 'grant %I to %I' end,
  $1::pg_catalog.text, $2::pg_catalog.text)

-- name: grant_connect
-- A database that is being filled is closed to all other roles (workers/project/reset.py).
select pg_catalog.format('grant connect on database %I to %I', pg_catalog.current_database(), $1::pg_catalog.text)

-- name: revoke_connect
select pg_catalog.format('revoke connect on database %I from %I', pg_catalog.current_database(), $1::pg_catalog.text)

-- name: one_at_a_time
-- Held until the transaction ends: two sessions that grant on one database at the same time fail.
select pg_catalog.pg_advisory_xact_lock($1::pg_catalog.int4, -1)

-- name: hold
-- Held by the session that created the login: a login whose lock is free was left behind by a process that no longer runs.
select pg_catalog.pg_advisory_lock($1::pg_catalog.int4, $2::pg_catalog.int4)

-- name: let_go
select pg_catalog.pg_advisory_unlock($1::pg_catalog.int4, $2::pg_catalog.int4)

-- name: held
-- The second numbers of the locks that sessions in this database hold.
select l.objid::pg_catalog.int8
from pg_catalog.pg_locks as l
where l.locktype = 'advisory' and l.objsubid = 2 and l.granted and l.classid = $1::pg_catalog.int8::pg_catalog.oid
  and l.database = (select d.oid from pg_catalog.pg_database as d where d.datname = pg_catalog.current_database())

-- name: logins
-- The logins that were made in this database and are still there.
select r.rolname::pg_catalog.text
from pg_catalog.pg_roles as r
where pg_catalog.starts_with(
  r.rolname,
  'headwater_login_'
    || (select d.oid from pg_catalog.pg_database as d where d.datname = pg_catalog.current_database())::pg_catalog.text
    || '_')

-- name: end_sessions
-- Without waiting: the server checks every 100 ms whether a session has ended, and none of them can log in again.
select pg_catalog.pg_terminate_backend(a.pid)
from pg_catalog.pg_stat_activity as a
where a.usename = $1
