-- Rows without a blob (missing_blobs.py), as the login role, which owns the tables.

-- name: take_turn
-- A lock lets one worker at a time search.
select pg_try_advisory_xact_lock(hashtextextended('headwater storage missing', 0))

-- name: page
-- Rows after $1 that were unchanged for $2 seconds.
select json_build_object('id', id, 'bucket_id', bucket_id, 'version', version)
from storage.objects
where ($1 = '' or id > $1::uuid) and version is not null and bucket_id is not null
  and updated_at < now() - make_interval(secs => $2::float8)
order by id
limit $3::bigint

-- name: still
-- The versions of those pairs (id, version) that are still rows.
select coalesce(json_agg(version), '[]')
from storage.objects
join jsonb_array_elements($1::jsonb) as pair on id = (pair ->> 0)::uuid and version = pair ->> 1
