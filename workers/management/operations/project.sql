-- Statements of operations on the project (project.py).

-- name: facts
-- The database, the server's version, and when the platform first prepared it.
select pg_catalog.jsonb_build_object(
  'database', pg_catalog.current_database(),
  'version', pg_catalog.split_part(pg_catalog.current_setting('server_version'), ' ', 1),
  'major', pg_catalog.current_setting('server_version_num')::int / 10000,
  'created_at', pg_catalog.to_char(
    (select pg_catalog.min(migration.applied_at) from headwater.migrations as migration) at time zone 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
)

-- name: set_login
select headwater.set_command_line_login($1, $2, $3)
