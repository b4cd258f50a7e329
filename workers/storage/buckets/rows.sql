-- Buckets (rows.py). Statements whose result goes to a client return one JSON object a row, or a list of them.

-- name: list
-- As the caller. $1 limit, $2 offset, $3 sort column, $4 descending, $5 part of the name.
select coalesce(json_agg(shown.bucket order by shown.number), '[]')
from (
  select
    json_build_object(
      'id', id, 'name', name, 'public', public, 'owner', coalesce(owner::text, ''),
      'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'updated_at', to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'file_size_limit', file_size_limit, 'allowed_mime_types', allowed_mime_types, 'type', type
    ) as bucket,
    row_number() over (
      order by
        case when not $4::boolean then sorted.key end,
        case when $4::boolean then sorted.key end desc,
        id
    ) as number
  from storage.buckets
  cross join lateral (
    select case $3::text
      when 'id' then id
      when 'created_at' then to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US')
      when 'updated_at' then to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US')
      else name
    end as key
  ) sorted
  where $5::text = '' or strpos(lower(name), lower($5::text)) > 0
  order by number
  limit nullif($1::bigint, 0)
  offset $2::bigint
) shown

-- name: show
-- As the caller.
select json_build_object(
  'id', id, 'name', name, 'public', public, 'owner', coalesce(owner::text, ''),
  'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'updated_at', to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'file_size_limit', file_size_limit, 'allowed_mime_types', allowed_mime_types
)
from storage.buckets
where id = $1

-- name: rules
-- As the service role: the rules for objects.
select json_build_object(
  'id', id, 'public', coalesce(public, false), 'file_size_limit', file_size_limit,
  'allowed_mime_types', allowed_mime_types, 'owner_id', owner_id,
  'has_quota', exists (select from storage.quotas where bucket_id = buckets.id or bucket_id is null)
)
from storage.buckets
where id = $1

-- name: rules_for
-- As the service role: the same, with the bytes that the quotas leave for the object named $2; null without a quota.
select json_build_object(
  'id', id, 'public', coalesce(public, false), 'file_size_limit', file_size_limit,
  'allowed_mime_types', allowed_mime_types, 'has_quota', held.is_held,
  'room', case when held.is_held then storage.room_for(id, $2) end
)
from storage.buckets
cross join lateral (
  select exists (select from storage.quotas where bucket_id = buckets.id or bucket_id is null) as is_held
) held
where id = $1

-- name: create
-- As the caller, who may create a bucket without the right to see buckets.
insert into storage.buckets (id, name, owner, owner_id, public, file_size_limit, allowed_mime_types)
values (
  $1, $2, $3::uuid, $4, $5::boolean, $6::bigint,
  case when $7::jsonb = 'null' then null else array(select jsonb_array_elements_text($7::jsonb)) end
)

-- name: update
-- As the caller. $2, $3 and $5 are flags: whether the value after each is set.
update storage.buckets set
  public = coalesce($2::boolean, public),
  file_size_limit = case when $3::boolean then $4::bigint else file_size_limit end,
  allowed_mime_types = case
    when not $5::boolean then allowed_mime_types
    when $6::jsonb = 'null' then null
    else array(select jsonb_array_elements_text($6::jsonb))
  end,
  updated_at = now()
where id = $1
returning id

-- name: lock
-- As the service role: lock the bucket, so that no object is added before the transaction ends.
select 1 from storage.buckets where id = $1 for update

-- name: is_filled
select 1 from storage.objects where bucket_id = $1 limit 1

-- name: delete
-- As the caller.
delete from storage.buckets where id = $1 returning id

-- name: is_counted
-- As the service role: whether the bucket holds more than $2 objects.
select count(*) > $2::bigint from (select from storage.objects where bucket_id = $1 limit $2::bigint + 1) counted

-- name: size
-- As the caller: of the objects that the caller may see.
select json_build_object(
  'id', $1::text,
  'size', coalesce(sum((metadata ->> 'size')::bigint) filter (where metadata ->> 'size' ~ '^[0-9]{1,18}$'), 0),
  'objects', count(*)
)
from storage.objects
where bucket_id = $1
