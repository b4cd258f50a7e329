-- Rows of the time of a replayed log of short blobs (replayed_logs.py), as the login role, which owns the tables.

-- name: take_turn
-- A lock lets one worker at a time compare.
select pg_try_advisory_xact_lock(hashtextextended('headwater storage replayed logs', 0))

-- name: page
-- Objects after $1 that were written between two times (seconds since 1970) and are short enough for the log.
select json_build_object('id', id, 'bucket_id', bucket_id, 'name', name, 'version', version,
  'size', (metadata ->> 'size')::int8, 'etag', metadata ->> 'eTag')
from storage.objects
where ($1 = '' or id > $1::uuid) and version is not null and bucket_id is not null
  and updated_at between to_timestamp($2::float8) and to_timestamp($3::float8)
  and case when metadata ->> 'size' ~ '^[0-9]{1,9}$' then (metadata ->> 'size')::int8 <= $4::int8 end
order by id
limit $5::bigint

-- name: still
-- The positions of those pairs (id, version) that are still rows.
select coalesce(json_agg(pair.ordinality - 1), '[]')
from storage.objects
join jsonb_array_elements($1::jsonb) with ordinality as pair (value, ordinality)
  on id = (pair.value ->> 0)::uuid and version = pair.value ->> 1
