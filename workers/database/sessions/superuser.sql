-- Statements of superuser.py, for a superuser session. All names are qualified; operators are those of pg_catalog, because it
-- is the first schema of such a session's search path.

-- name: settle
-- The current login and its settings. What the owner of the database stored for all its sessions (`alter database ... set`) is
-- set to the server's own default here; what can only be set before the session starts was set in its startup message.
with stored as materialized (
  select s.name, s.boot_val
  from pg_catalog.pg_settings as s
  where s.source in ('database', 'user', 'database user')
    and (
      s.context = 'user'
      or s.context = 'superuser' and (select r.rolsuper from pg_catalog.pg_roles as r where r.rolname = current_user))
    and s.boot_val is not null
)
select
  session_user::pg_catalog.text as login,
  current_user::pg_catalog.text as role,
  (select r.rolsuper from pg_catalog.pg_roles as r where r.rolname = session_user) as is_superuser,
  array(
    select attribute.name
    from pg_catalog.pg_roles as r
    cross join lateral (
      values ('SUPERUSER', r.rolsuper), ('CREATEROLE', r.rolcreaterole), ('CREATEDB', r.rolcreatedb),
        ('REPLICATION', r.rolreplication), ('BYPASSRLS', r.rolbypassrls)
    ) as attribute (name, is_there)
    where r.rolname = session_user and not attribute.is_there
  ) as lacks,
  pg_catalog.current_setting('search_path') as search_path,
  pg_catalog.current_setting('session_replication_role') as session_replication_role,
  pg_catalog.current_setting('event_triggers', true) as event_triggers,
  array(select pg_catalog.set_config(stored.name, stored.boot_val, false) from stored) as reset

-- name: stop_logging
-- Keeps this transaction out of the server's log, whatever the log is set to, and out of pg_stat_activity, where role postgres sees the
-- statements of all sessions.
set local log_statement = 'none';
set local log_duration = off;
set local log_min_duration_statement = -1;
set local log_min_duration_sample = -1;
set local log_transaction_sample_rate = 0;
set local log_parameter_max_length = 0;
set local log_parameter_max_length_on_error = 0;
set local log_min_error_statement = 'panic';
set local log_error_verbosity = 'terse';
set local track_activities = off
