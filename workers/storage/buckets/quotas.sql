-- Quotas (quotas.py).

-- name: usage
-- As the service role.
select json_build_object(
  'id', $1::text,
  'size', coalesce(sum(size), 0),
  'objects', coalesce(sum(objects), 0),
  'quota', (select quotas.size from storage.quotas where quotas.bucket_id = $1)
)
from storage.usage
where usage.bucket_id = $1

-- name: set
-- As the service role; null removes the quota.
with lifted as (
  delete from storage.quotas where bucket_id = $1 and $2::bigint is null
)
insert into storage.quotas (bucket_id, size)
select $1, $2::bigint where $2::bigint is not null
on conflict (bucket_id) do update set size = excluded.size

-- name: set_in_all
-- As the login role. Writes nothing if the quota is unchanged.
with lifted as (
  delete from storage.quotas where bucket_id is null and $1::bigint is null
)
insert into storage.quotas (bucket_id, size)
select null, $1::bigint where $1::bigint is not null
on conflict (bucket_id) do update set size = excluded.size where quotas.size <> excluded.size
