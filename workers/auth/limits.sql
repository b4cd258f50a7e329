-- Buckets that all workers share (limits.py): `count` is the level at `updated_at`, and it falls with time.

-- name: take
-- One drop into a bucket ($1) that loses $2 a second and holds $3; no row where there is no room.
insert into auth.rate_limits as bucket (name, count, updated_at)
values ($1, 1, now())
on conflict (name) do update set
  count = greatest(0, bucket.count - extract(epoch from now() - bucket.updated_at) * $2::float8) + 1,
  updated_at = now()
where greatest(0, bucket.count - extract(epoch from now() - bucket.updated_at) * $2::float8) + 1 <= $3::float8
returning 1

-- name: wait
-- Seconds until there is room again.
select ceil((count - extract(epoch from now() - updated_at) * $2::float8 + 1 - $3::float8) / $2::float8)::int
from auth.rate_limits where name = $1

-- name: sweep
-- What has long run empty.
delete from auth.rate_limits where updated_at < now() - interval '1 day'
