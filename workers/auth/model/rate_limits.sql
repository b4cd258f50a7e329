-- Leaky buckets that all workers share (rate_limits.py): `count` is the level at `updated_at`; it falls with time. A time in the
-- future is that of a clock that was set back since: no time has passed, or a bucket would be full until the clock has caught up.

-- name: take
-- Adds one request to a bucket ($1) that drains $2 a second and holds $3; no row if it is full.
insert into auth.rate_limits as bucket (name, count, updated_at)
values ($1, 1, now())
on conflict (name) do update set
  count = greatest(0, bucket.count - greatest(0, extract(epoch from now() - bucket.updated_at)) * $2::float8) + 1,
  updated_at = now()
where greatest(0, bucket.count - greatest(0, extract(epoch from now() - bucket.updated_at)) * $2::float8) + 1 <= $3::float8
returning 1

-- name: wait
-- Seconds until the bucket has room again.
select ceil((count - greatest(0, extract(epoch from now() - updated_at)) * $2::float8 + 1 - $3::float8) / $2::float8)::int
from auth.rate_limits where name = $1

-- name: take_window
-- Adds $2 to a counter with a window of $3 seconds and a maximum of $4; no row if that exceeds it.
insert into auth.rate_limits as sent (name, window_start, count, updated_at)
select $1, now(), $2::float8, now() where $2::float8 <= $4::float8
on conflict (name) do update set
  window_start = case when sent.window_start <= now() - $3::float8 * interval '1 second' then now() else sent.window_start end,
  count = case when sent.window_start <= now() - $3::float8 * interval '1 second' then 0 else sent.count end + $2::float8,
  updated_at = now()
where case when sent.window_start <= now() - $3::float8 * interval '1 second' then 0 else sent.count end + $2::float8 <= $4::float8
returning 1

-- name: window_left
-- Seconds until the window ends.
select ceil(extract(epoch from window_start - now()) + $2::float8)::int from auth.rate_limits where name = $1

-- name: take_drops
-- Adds $4 to a bucket that drains $2 a second and holds $3; no row if it is too full.
insert into auth.rate_limits as bucket (name, count, updated_at)
select $1, $4::float8, now() where $4::float8 <= $3::float8
on conflict (name) do update set
  count = greatest(0, bucket.count - greatest(0, extract(epoch from now() - bucket.updated_at)) * $2::float8) + $4::float8,
  updated_at = now()
where greatest(0, bucket.count - greatest(0, extract(epoch from now() - bucket.updated_at)) * $2::float8) + $4::float8 <= $3::float8
returning 1

-- name: pause
-- Allows an action once in $3 seconds, at the time $2; no row if the last one is more recent. One that is as far in the future does not
-- count: the clock was set back since.
insert into auth.rate_limits as last (name, window_start, updated_at) values ($1, $2::timestamptz, now())
on conflict (name) do update set window_start = $2::timestamptz, updated_at = now()
where abs(extract(epoch from $2::timestamptz - last.window_start)) >= $3::float8
returning 1

-- name: paused_since
select extract(epoch from $2::timestamptz - window_start)::float8 from auth.rate_limits where name = $1

-- name: forget
delete from auth.rate_limits where name = $1

-- name: sweep
-- Counters unused for a day.
delete from auth.rate_limits where updated_at < now() - interval '1 day'
