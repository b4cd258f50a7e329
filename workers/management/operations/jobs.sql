-- Jobs, requests, queues and webhooks as administrators see them. Lists run as a role that only reads, changes as role postgres.

-- name: jobs
-- Jobs after a number, with their last run. $1 the last number of the page before, $2 rows, $3 one job or null.
select pg_catalog.json_build_object(
  'id', job.jobid::bigint, 'name', job.jobname::text, 'schedule', job.schedule::text, 'command', job.command::text,
  'database', job.database::text, 'owner', job.username::text, 'is_active', coalesce(job.active::boolean, true),
  'last_status', run.status::text, 'last_message', pg_catalog.left(run.return_message::text, 1000),
  'last_started_at', run.start_time, 'last_ended_at', run.end_time)
from cron.job
left join lateral (
  select status, return_message, start_time, end_time
  from cron.job_run_details
  where job_run_details.jobid = job.jobid
  order by runid desc
  limit 1
) as run on true
where job.jobid > $1::bigint and ($3::bigint is null or job.jobid = $3::bigint)
order by job.jobid
limit $2::bigint

-- name: runs
-- Runs before a number, the newest first. $1 job or null, $2 status or null, $3 number or null, $4 rows.
select pg_catalog.json_build_object(
  'id', runid::bigint, 'job_id', jobid::bigint, 'status', status::text, 'message', pg_catalog.left(return_message::text, 10000),
  'command', pg_catalog.left(command::text, 10000), 'owner', username::text, 'pid', job_pid::integer,
  'started_at', start_time, 'ended_at', end_time)
from cron.job_run_details
where ($1::bigint is null or jobid = $1::bigint)
  and ($2::text is null or status = $2::text)
  and ($3::bigint is null or runid < $3::bigint)
order by runid desc
limit $4::bigint

-- name: job_named
select pg_catalog.json_build_object('id', jobid::bigint) from cron.job where jobname = $1::text and username = 'postgres'

-- name: create_job
select pg_catalog.json_build_object('id', cron.schedule($1::text, $2::text, $3::text)::bigint)

-- name: change_job
select cron.alter_job($1::bigint, $2::text, $3::text, null::text, null::text, $4::boolean)

-- name: remove_job
select cron.unschedule($1::bigint)

-- name: waiting_requests
-- Requests of pg_net that wait to be sent, with the first bytes of their bodies, which may be of any kind. $1 the last number of the page
-- before, $2 rows, $3 bytes of a body.
select pg_catalog.json_build_object(
  'id', id::bigint, 'method', method::text, 'url', url::text, 'headers', headers::jsonb,
  'body', pg_catalog.encode(pg_catalog.substr(body, 1, $3::integer), 'base64'), 'timeout_ms', timeout_milliseconds::integer)
from net.http_request_queue
where id > $1::bigint
order by id
limit $2::bigint

-- name: responses
-- Responses before a number, the newest first. $1 number or null, $2 rows, $3 whether only failures.
select pg_catalog.json_build_object(
  'id', id::bigint, 'status', status_code::integer, 'content_type', content_type::text, 'headers', headers::jsonb,
  'body', pg_catalog.left(content::text, 10000), 'is_timeout', coalesce(timed_out::boolean, false),
  'error', error_msg::text, 'at', created)
from net._http_response
where ($1::bigint is null or id < $1::bigint)
  and (not $3::boolean or status_code is null or status_code >= 400)
order by id desc
limit $2::bigint

-- name: queues
select pg_catalog.json_build_object(
  'name', metrics.queue_name::text, 'messages', metrics.queue_length::bigint, 'visible', metrics.queue_visible_length::bigint,
  'total', metrics.total_messages::bigint, 'oldest_s', metrics.oldest_msg_age_sec::integer,
  'newest_s', metrics.newest_msg_age_sec::integer, 'is_unlogged', coalesce(meta.is_unlogged, false),
  'created_at', meta.created_at)
from pgmq.metrics_all() as metrics
join pgmq.meta on meta.queue_name = metrics.queue_name
order by metrics.queue_name
limit $1::bigint

-- name: queue
-- A queue by its name, as it is written in its table's name.
select pg_catalog.json_build_object('name', queue_name::text)
from pgmq.meta where pg_catalog.lower(queue_name::text) = pg_catalog.lower($1::text)

-- name: create_queue
select pgmq.pgmq_make_queue($1::text, $2::boolean)

-- name: send_message
select pg_catalog.json_build_object('id', sent::bigint) from pgmq.send($1::text, $2::jsonb, $3::jsonb, $4::integer) as sent

-- name: make_visible
select pg_catalog.json_build_object('id', message.msg_id::bigint)
from pg_catalog.unnest($2::bigint[]) as wanted (id)
cross join lateral pgmq.set_vt($1::text, wanted.id, 0) as message

-- name: archive_messages
select pg_catalog.json_build_object('id', archived::bigint) from pgmq.archive($1::text, $2::bigint[]) as archived

-- name: delete_messages
select pg_catalog.json_build_object('id', deleted::bigint) from pgmq.delete($1::text, $2::bigint[]) as deleted

-- name: purge_queue
select pg_catalog.json_build_object('count', pgmq.purge_queue($1::text)::bigint)

-- name: drop_queue
select pgmq.drop_queue($1::text)

-- name: webhooks
-- Triggers that call supabase_functions.http_request; their arguments are texts that end with NUL. $1 name of the page before, $2 rows.
select pg_catalog.json_build_object(
  'schema', n.nspname, 'table', c.relname, 'name', t.tgname, 'kind', t.tgtype::integer, 'is_enabled', t.tgenabled <> 'D',
  'arguments', pg_catalog.encode(t.tgargs, 'base64'))
from pg_catalog.pg_trigger as t
join pg_catalog.pg_proc as p on p.oid = t.tgfoid
join pg_catalog.pg_namespace as pn on pn.oid = p.pronamespace
join pg_catalog.pg_class as c on c.oid = t.tgrelid
join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
where pn.nspname = 'supabase_functions' and p.proname = 'http_request' and not t.tgisinternal and t.tgparentid = 0
order by n.nspname, c.relname, t.tgname
limit $1::bigint

-- name: table
-- A table by schema and name.
select pg_catalog.json_build_object('schema', n.nspname, 'name', c.relname)
from pg_catalog.pg_class as c
join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
where n.nspname = $1 and c.relname = $2 and c.relkind in ('r', 'p', 'f')

-- name: deliveries
-- Requests of webhooks before a number, the newest first. $1 number or null, $2 webhook or null, $3 rows.
select pg_catalog.json_build_object(
  'id', hooks.id::bigint, 'webhook', hooks.hook_name::text, 'schema', n.nspname, 'table', c.relname,
  'request_id', hooks.request_id::bigint, 'at', hooks.created_at, 'status', answer.status_code::integer,
  'is_timeout', coalesce(answer.timed_out, false), 'error', answer.error_msg::text,
  'body', pg_catalog.left(answer.content::text, 2000),
  'state', case
    when answer.id is not null and answer.status_code between 200 and 299 then 'delivered'
    when answer.id is not null then 'failed'
    when waiting.id is not null then 'waiting'
    else 'unknown' end)
from supabase_functions.hooks
left join net._http_response as answer on answer.id = hooks.request_id
left join net.http_request_queue as waiting on waiting.id = hooks.request_id
left join pg_catalog.pg_class as c on c.oid = hooks.hook_table_id::oid
left join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
where ($1::bigint is null or hooks.id < $1::bigint) and ($2::text is null or hooks.hook_name = $2::text)
order by hooks.id desc
limit $3::bigint

-- name: outbox
-- Events of storage that wait to be published.
select pg_catalog.json_build_object('count', pg_catalog.count(*)) from storage.events_outbox
