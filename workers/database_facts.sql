-- Statements of database_facts.py, in a session whose search path is pg_catalog.

-- name: facts
select pg_catalog.json_build_object(
  'version', pg_catalog.current_setting('server_version_num')::int,
  'wal_level', pg_catalog.current_setting('wal_level'),
  'now', pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()),
  'slots_free', pg_catalog.current_setting('max_replication_slots')::int
    - (select pg_catalog.count(*) from pg_catalog.pg_replication_slots),
  'sessions', (select pg_catalog.count(*) from pg_catalog.pg_stat_activity where backend_type = 'client backend'),
  'max_sessions', pg_catalog.current_setting('max_connections')::int,
  'slot', (
    select pg_catalog.json_build_object(
      'held_bytes', coalesce((pg_catalog.pg_current_wal_lsn() - restart_lsn)::int8, 0),
      'active', active, 'lost', coalesce(wal_status, '') = 'lost'
    )
    from pg_catalog.pg_replication_slots where slot_name = $1
  )
)::text

-- name: replacement
-- Databases that a restore or reset created or set aside (project/replace_database.py), and whether it still runs: its session on template1
-- holds the lock. $1: their names, $2: number of the lock.
select
  array(
    select d.datname::pg_catalog.text from pg_catalog.pg_database as d
    where d.datname = any($1::pg_catalog.text[]) order by d.datname) as left_over,
  exists (
    select from pg_catalog.pg_locks as l
    where l.locktype = 'advisory' and l.objsubid = 1 and l.granted
      and l.objid = $2::pg_catalog.int8::pg_catalog.oid and l.classid = 0::pg_catalog.oid
      and l.database = (select d.oid from pg_catalog.pg_database as d where d.datname = 'template1')) as is_running

-- name: copies_cluster
-- Whether role postgres, which may replicate, is let in for a physical copy of the whole server. Only a superuser may ask.
select exists (
  select from pg_catalog.pg_hba_file_rules as rule
  where 'replication' = any(rule.database) and rule.auth_method <> 'reject'
    and ('all' = any(rule.user_name) or 'postgres' = any(rule.user_name))
) and exists (
  select from pg_catalog.pg_roles as r where r.rolname = 'postgres' and r.rolreplication and not r.rolsuper
)

-- name: has_history
select pg_catalog.to_regclass('headwater.migrations') is not null

-- name: applied
select series, pg_catalog.max(version) as version from headwater.migrations group by series

-- name: has_webhooks
select pg_catalog.to_regclass('headwater.webhooks') is not null

-- name: webhooks
-- Webhooks that do not send, or may have missed events.
select
  w.name, coalesce(w.pause_reason, '') as paused, w.failing_since is not null as is_failing, w.is_full, coalesce(w.gap_reason, '') as gap,
  w.table_name is not null
    and pg_catalog.to_regclass(pg_catalog.concat(pg_catalog.quote_ident(w.table_schema), '.', pg_catalog.quote_ident(w.table_name))) is null
    as has_no_table
from headwater.webhooks as w
order by w.name

-- name: has_queue_consumers
select pg_catalog.to_regclass('headwater.queue_consumers') is not null

-- name: queue_consumers
-- A consumer is failing if attempts failed and none succeeded between the last two measurements.
select function, queue, wanted, problem, last_error, (done_per_s OPERATOR(pg_catalog.=) 0 and failed_per_s OPERATOR(pg_catalog.>) 0) as is_failing
from headwater.queue_consumers
order by queue, function

-- name: has_log_drains
select pg_catalog.to_regclass('headwater.log_drains') is not null

-- name: log_drains
select drain, pg_catalog.max(error) as error, pg_catalog.sum(lost)::pg_catalog.int8 as lost, pg_catalog.sum(rejected)::pg_catalog.int8 as rejected
from headwater.log_drains
group by drain
order by drain

-- name: has_streams
select pg_catalog.to_regclass('headwater.stream_tables') is not null

-- name: streams
-- Tables that are copied to other systems.
select
  stream, table_schema OPERATOR(pg_catalog.||) '.' OPERATOR(pg_catalog.||) table_name as table, state, problem,
  coalesce(pg_catalog.to_char(pg_catalog.timezone('UTC', problem_since), 'YYYY-MM-DD HH24:MI'), '') as since
from headwater.stream_tables
order by stream, table_schema, table_name

-- name: has_row_history
select pg_catalog.to_regclass('headwater_history.gaps') is not null

-- name: row_history
-- Tables with history, and the last gap of each.
select
  t.table_schema OPERATOR(pg_catalog.||) '.' OPERATOR(pg_catalog.||) t.table_name as table, coalesce(g.reason, '') as gap,
  coalesce(pg_catalog.to_char(pg_catalog.timezone('UTC', g.at), 'YYYY-MM-DD HH24:MI'), '') as gap_at
from headwater_history.tables as t
left join lateral (
  select gaps.reason, gaps.at from headwater_history.gaps where gaps.table_id OPERATOR(pg_catalog.=) t.id order by gaps.at desc limit 1
) as g on true
where t.is_on
order by t.table_schema, t.table_name

-- name: has_durable_jobs
select pg_catalog.to_regclass('headwater_jobs.runs') is not null

-- name: durable_jobs
-- Jobs, and how many of their runs failed in the last day. `is_stranded`: runs wait, and no function or program is this job any more.
select
  j.name, f.failed, coalesce(f.last_error, '') as last_error,
  not j.is_defined and exists (
    select from headwater_jobs.runs where runs.job OPERATOR(pg_catalog.=) j.name and runs.due_at is not null) as is_stranded
from headwater_jobs.jobs as j
cross join lateral (
  select
    pg_catalog.count(*) as failed,
    (pg_catalog.array_agg(pg_catalog.left(runs.error, 200) order by runs.ended_at desc))[1] as last_error
  from headwater_jobs.runs
  where runs.job OPERATOR(pg_catalog.=) j.name and runs.status OPERATOR(pg_catalog.=) 'failed'
    and runs.ended_at OPERATOR(pg_catalog.>) (pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) '1 day'::pg_catalog.interval)
) as f
order by j.name
