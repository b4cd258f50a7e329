-- Consumers of queues (consumers.py), as the scheduler's login. The table: platform/0031_queue_consumers.sql.

-- name: login
select owner, login from headwater.queue_login($1, $2)

-- name: take_over
select headwater.take_over_queues()

-- name: sync
-- The consumers are these functions ($1) with these queues ($2) and queues of dead letters ($3); what is wanted of them.
with gone as (
  delete from headwater.queue_consumers where function <> all ($1::text[])
)
insert into headwater.queue_consumers (function, queue, dead_letter)
select function, queue, dead_letter from unnest($1::text[], $2::text[], $3::text[]) as configured (function, queue, dead_letter)
on conflict (function) do update set queue = excluded.queue, dead_letter = excluded.dead_letter
returning function, wanted

-- name: figures
update headwater.queue_consumers
set problem = $2, underway = $3, done = done + $4, failed = failed + $5, set_aside = set_aside + $6, done_per_s = $7, failed_per_s = $8,
  last_error = case when $9 = '' then last_error else $9 end,
  last_error_at = case when $9 = '' then last_error_at else pg_catalog.clock_timestamp() end,
  messages = $10, visible = $11, oldest_s = $12, measured_at = pg_catalog.clock_timestamp()
where function = $1

-- name: problem
update headwater.queue_consumers set problem = $2 where function = $1 and problem <> $2

-- name: drained
update headwater.queue_consumers set wanted = 'pause' where function = $1 and wanted = 'drain'
