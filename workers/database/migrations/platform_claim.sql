-- Statements of platform_claim.py, in a superuser's session whose search path is pg_catalog.

-- name: sessions
-- Sessions of the platform's logins on this server that did something in the last $2 seconds. A process of a pool asks the server
-- every 30 s at least (workers/database/schema_cache/cache.py), so one that is silent longer has died with its machine.
select
  a.datname::pg_catalog.text as database,
  a.datname = pg_catalog.current_database() as is_here,
  coalesce(pg_catalog.host(a.client_addr), 'the machine of the server') as address,
  extract(epoch from pg_catalog.clock_timestamp() - greatest(a.state_change, a.backend_start))::pg_catalog.float8 as silent_s
from pg_catalog.pg_stat_activity as a
where a.usename::pg_catalog.text = any($1::pg_catalog.text[])
  and a.backend_type = 'client backend'
  and a.pid <> pg_catalog.pg_backend_pid()
  and pg_catalog.starts_with(a.application_name, 'headwater')
  and greatest(a.state_change, a.backend_start)
    > pg_catalog.clock_timestamp() - pg_catalog.make_interval(secs => $2::pg_catalog.float8)
order by 4

-- name: now
-- The server's time: the clocks of two machines may differ.
select extract(epoch from pg_catalog.clock_timestamp())::pg_catalog.float8
