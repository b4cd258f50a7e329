-- Jobs and their runs (jobs.py), as the scheduler's login, in the session that holds the leader's lock.

-- name: serves
select jobs, requests from headwater.scheduler_serves()

-- name: take_over
select headwater.take_over_jobs()

-- name: jobs
-- The active jobs of the server's databases.
select jobid, schedule from cron.job where active

-- name: begin
-- Start the run of a job for a moment ($2). No row if the job is gone, or a run for this or a later moment was started.
-- A run for a moment after $3 was started by a clock that was set back since (timetable.py); it does not count.
with job as (
  select jobid, database, username, command from cron.job where jobid = $1 and active
),
mine as (
  insert into headwater.last_runs (schedule, due)
  select 'job ' || jobid, to_timestamp($2) from job
  on conflict (schedule) do update set due = excluded.due
  where last_runs.due < excluded.due or last_runs.due > to_timestamp($3)
  returning schedule
)
insert into cron.job_run_details (jobid, database, username, command, status)
select jobid, database, username, command, 'starting' from job where exists (select from mine)
returning runid, database, username, command

-- name: begin_function
-- The same for a function, which has no row of its own.
insert into headwater.last_runs (schedule, due) values ($1, to_timestamp($2))
on conflict (schedule) do update set due = excluded.due
where last_runs.due < excluded.due or last_runs.due > to_timestamp($3)
returning schedule

-- name: requested
-- Take the runs that administrators requested. One that waited for long had no scheduler, and is not started any more.
with taken as (delete from headwater.requested_runs returning schedule, requested_at)
select schedule from taken where requested_at > clock_timestamp() - make_interval(secs => $1)

-- name: started
update cron.job_run_details set status = 'running', job_pid = $2, start_time = clock_timestamp() where runid = $1

-- name: ended
update cron.job_run_details
set status = $2, return_message = $3, start_time = coalesce(start_time, clock_timestamp()), end_time = clock_timestamp()
where runid = $1

-- name: abandon
-- Close the runs that the previous scheduler left open.
update cron.job_run_details
set status = 'failed', return_message = 'the scheduler was restarted', end_time = clock_timestamp()
where status in ('starting', 'running')

-- name: login
select headwater.job_login($1, $2)

-- name: settings_of
-- The default settings of a job's owner; later rows override earlier ones.
select split_part(entry, '=', 1), substr(entry, strpos(entry, '=') + 1)
from pg_catalog.pg_db_role_setting
join pg_catalog.pg_roles on pg_roles.oid = setrole
cross join unnest(setconfig) as entry
where rolname = $1
  and setdatabase in (0, (select oid from pg_catalog.pg_database where datname = $2))
order by setdatabase

-- name: sweep
delete from cron.job_run_details where end_time < clock_timestamp() - make_interval(secs => $1)

-- name: sweep_hooks
-- The table is the project's, which may have triggers on it: they run as a role without rights (platform/0021).
select headwater.sweep_hooks($1)

-- name: forget
-- Delete the last runs of deleted jobs.
delete from headwater.last_runs
where schedule like 'job %' and not exists (select from cron.job where 'job ' || jobid = last_runs.schedule)
