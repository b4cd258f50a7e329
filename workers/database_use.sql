-- Statements of database_use.py, in a superuser's session whose search path is pg_catalog.

-- name: use
-- What uses the database beside the platform itself. $1: the platform's logins, whose idle sessions do not count, nor those of consumers of queues.
select
  (select pg_catalog.count(*) from pg_catalog.pg_stat_activity as a
   where a.backend_type = 'client backend' and a.pid <> pg_catalog.pg_backend_pid()
     and not a.usename::pg_catalog.text = any($1::pg_catalog.text[])
     and not pg_catalog.starts_with(a.usename::pg_catalog.text, 'headwater_job_queue_')) as sessions,
  (select pg_catalog.count(*) from pg_catalog.pg_stat_activity as a
   where a.backend_type = 'client backend' and a.pid <> pg_catalog.pg_backend_pid()
     and (a.usename::pg_catalog.text = any($1::pg_catalog.text[])
       or pg_catalog.starts_with(a.usename::pg_catalog.text, 'headwater_job_queue_'))
     and a.state <> 'idle') as working,
  (select pg_catalog.count(*) from pg_catalog.pg_stat_activity as a
   where a.backend_type = 'walsender' and not a.usename::pg_catalog.text = any($1::pg_catalog.text[])) as readers,
  (select pg_catalog.count(*) from pg_catalog.pg_subscription as s where s.subenabled) as subscriptions
