-- Durable jobs (durable_jobs.py), as the pool's login. The tables: platform/0033_durable_jobs.sql.

-- name: jobs
select pg_catalog.json_build_object(
  'name', jobs.name, 'is_function', jobs.is_function, 'is_defined', jobs.is_defined, 'events', jobs.events, 'retries', jobs.retries,
  'backoff_s', jobs.backoff_s, 'waiting', due.count, 'running', running.count, 'failed', failed.count)
from headwater_jobs.jobs
cross join lateral (
  select pg_catalog.count(*) from (
    select from headwater_jobs.runs where job = jobs.name and due_at is not null and status <> 'running' limit 100001) as bounded
) as due
cross join lateral (
  select pg_catalog.count(*) from (
    select from headwater_jobs.runs where job = jobs.name and due_at is not null and status = 'running' limit 100001) as bounded
) as running
cross join lateral (
  select pg_catalog.count(*) from (
    select from headwater_jobs.runs
    where ended_at > pg_catalog.clock_timestamp() - interval '1 day' and job = jobs.name and status = 'failed' limit 100001) as bounded
) as failed
order by jobs.name

-- name: runs
select pg_catalog.json_build_object(
  'id', id, 'job', job, 'status', status, 'key', key, 'owner', owner, 'error', error, 'attempt', attempt, 'failures', failures, 'steps', steps,
  'created_at', created_at, 'started_at', started_at, 'ended_at', ended_at, 'due_at', due_at)
from headwater_jobs.runs
where ($1::text = '' or job = $1::text) and ($2::text = '' or status = $2::text)
  and ($3::timestamptz is null or (created_at, id) < ($3::timestamptz, $4::uuid))
order by created_at desc, id desc
limit $5::int

-- name: run
select pg_catalog.json_build_object(
  'id', id, 'job', job, 'status', status, 'key', key, 'owner', owner, 'error', error, 'attempt', attempt, 'failures', failures, 'steps', steps,
  'created_at', created_at, 'started_at', started_at, 'ended_at', ended_at, 'due_at', due_at, 'input', input, 'output', output,
  'event', event, 'rerun_of', rerun_of)
from headwater_jobs.runs where id = $1::uuid

-- name: steps
select pg_catalog.json_build_object(
  'name', name, 'kind', kind, 'status', status, 'failures', failures, 'error', error, 'event', event, 'match', match, 'began_at', began_at,
  'ended_at', ended_at, 'due_at', due_at,
  'result', case when pg_catalog.octet_length(result::text) <= 16384 then result end,
  'bytes', pg_catalog.octet_length(result::text))
from headwater_jobs.steps where run = $1::uuid
order by position

-- name: start
select pg_catalog.json_build_object('id', headwater_jobs.start($1::text, $2::jsonb, $3::text, $4::timestamptz))

-- name: cancel
select pg_catalog.json_build_object('is_cancelled', headwater_jobs.cancel($1::uuid))

-- name: rerun
select pg_catalog.json_build_object('id', headwater_jobs.rerun($1::uuid, $2::text))

-- name: send_event
select pg_catalog.json_build_object('id', headwater_jobs.send_event($1::text, $2::jsonb, $3::text))
