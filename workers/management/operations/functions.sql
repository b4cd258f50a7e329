-- What operations on functions read of the database.

-- name: user
-- As a role that only reads: what an access token contains about a user.
select pg_catalog.json_build_object(
  'id', id, 'aud', coalesce(aud, ''), 'role', coalesce(role, ''), 'email', coalesce(email, ''), 'phone', coalesce(phone, ''),
  'app_metadata', coalesce(raw_app_meta_data, '{}'), 'user_metadata', coalesce(raw_user_meta_data, '{}'),
  'is_anonymous', coalesce(is_anonymous, false))
from auth.users
where id = $1::uuid and deleted_at is null

-- name: last_runs
-- As the pool's login: when the schedules of functions and jobs were begun last.
select pg_catalog.json_build_object('schedule', schedule, 'at', pg_catalog.date_part('epoch', due))
from headwater.last_runs

-- name: serves
-- As the pool's login: whether the platform's scheduler runs the jobs of this database.
select pg_catalog.json_build_object('jobs', jobs, 'requests', requests) from headwater.scheduler_serves()

-- name: request_run
-- As the pool's login: have the scheduler start a job or a function now.
with requested as (
  insert into headwater.requested_runs (schedule) values ($1)
  on conflict (schedule) do update set requested_at = excluded.requested_at
  returning schedule
)
select pg_catalog.pg_notify('headwater_cron', '') from requested
