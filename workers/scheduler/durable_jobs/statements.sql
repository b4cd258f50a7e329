-- Durable jobs (durable_jobs.py), as the scheduler's login. The functions: platform/0033_durable_jobs.sql.

-- name: take_over
select headwater_jobs.take_over()

-- name: sync
select headwater_jobs.sync_functions($1::jsonb)

-- name: take
select job, id::text, attempt, input::text, key, created_at, steps::text
from headwater_jobs.take_functions($1::text[], $2::int[], pg_catalog.make_interval(secs => $3::float8))

-- name: next_due
-- In how many seconds by the clock of the database, which decides what is due.
select extract(epoch from headwater_jobs.next_due($1::text[]) - pg_catalog.clock_timestamp())::float8

-- name: write
select headwater_jobs.write_reports($1::jsonb)

-- name: match
select headwater_jobs.match_events($1::int)

-- name: settle
select headwater_jobs.settle_children($1::int)

-- name: count
select headwater_jobs.count_unfinished()

-- name: sweep
select headwater_jobs.sweep(pg_catalog.make_interval(secs => $1::float8))

-- name: start_scheduled
-- Start the run of a schedule for a moment ($2), as `begin_function` of jobs.sql begins a call.
with mine as (
  insert into headwater.last_runs (schedule, due) values ($1, pg_catalog.to_timestamp($2))
  on conflict (schedule) do update set due = excluded.due
  where last_runs.due < excluded.due or last_runs.due > pg_catalog.to_timestamp($3)
  returning schedule
)
select headwater_jobs.start_scheduled($4::text, pg_catalog.to_timestamp($2)) from mine
