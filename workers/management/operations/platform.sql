-- The database as administrators see its health, as a role that only reads (platform.py).

-- name: database
select pg_catalog.json_build_object(
  'version', pg_catalog.current_setting('server_version'), 'bytes', pg_catalog.pg_database_size(pg_catalog.current_database()),
  'connections', (
    select pg_catalog.count(*) from pg_catalog.pg_stat_activity where backend_type = 'client backend'),
  'max_connections', pg_catalog.current_setting('max_connections')::integer,
  'started_at', pg_catalog.pg_postmaster_start_time(), 'is_standby', pg_catalog.pg_is_in_recovery())
