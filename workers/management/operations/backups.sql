-- What a restore would replace, as a role that only reads (backups.py).

-- name: present
select pg_catalog.json_build_object(
  'bytes', pg_catalog.pg_database_size(pg_catalog.current_database()),
  'users', (select pg_catalog.count(*) from auth.users),
  'objects', coalesce((select pg_catalog.sum(objects)::bigint from storage.usage_in_all), 0),
  'tables', (
    select pg_catalog.count(*) from pg_catalog.pg_class as c
    join pg_catalog.pg_namespace as n on n.oid = c.relnamespace and n.nspname = 'public'
    where c.relkind in ('r', 'p')),
  'server_version', pg_catalog.current_setting('server_version_num')::integer)
