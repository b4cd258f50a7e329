-- Objects (objects.py, uploads.py, moving.py, deleting.py). Names of settings and roles: callers.py.

-- name: openly
-- As the service role: is the bucket public, and what has it under this name if it is? One JSON object.
select json_build_object(
  'is_public', coalesce(buckets.public, false),
  'object', case when buckets.public then (
    select json_build_object(
      'id', id, 'name', name, 'bucket_id', bucket_id, 'version', version, 'metadata', metadata,
      'user_metadata', user_metadata,
      'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'updated_at', to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    )
    from storage.objects where bucket_id = buckets.id and name = $2
  ) end
)
from storage.buckets
where id = $1

-- name: visible
-- As whoever asks.
select json_build_object(
  'id', id, 'name', name, 'bucket_id', bucket_id, 'version', version, 'metadata', metadata,
  'user_metadata', user_metadata,
  'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'updated_at', to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
)
from storage.objects
where bucket_id = $1 and name = $2

-- name: visible_names
-- As the caller. $2 is a list of names.
select coalesce(json_agg(name), '[]')
from storage.objects
where bucket_id = $1 and name = any (array(select jsonb_array_elements_text($2::jsonb)))

-- name: probe_insert
-- As the caller, and undone. Nothing is returned: who may insert need not see.
insert into storage.objects (name, bucket_id, owner, owner_id, version, metadata, user_metadata)
values ($1, $2, $3::uuid, $4, '1', $5::jsonb, $6::jsonb)

-- name: probe_upsert
-- As the caller, and undone. Policies for insert, select and update all hold, even where nothing is there yet.
insert into storage.objects (name, bucket_id, owner, owner_id, version, metadata, user_metadata)
values ($1, $2, $3::uuid, $4, '1', $5::jsonb, $6::jsonb)
on conflict (name, bucket_id) do update set
  metadata = excluded.metadata,
  user_metadata = excluded.user_metadata,
  version = excluded.version,
  owner = excluded.owner,
  owner_id = excluded.owner_id
returning *

-- name: savepoint
savepoint probe

-- name: roll_back
rollback to savepoint probe

-- name: lock
-- Writers of one name wait for one another.
select pg_advisory_xact_lock(hashtextextended($1 || '/' || $2, 0))

-- name: lock_two
-- Both names of a move, in an order that all keep to.
select pg_advisory_xact_lock(each) from (
  select each from unnest(array[hashtextextended($1, 0), hashtextextended($2, 0)]) as each order by each
) ordered

-- name: insert
-- As the service role. $8: what the bucket's rules must be, null for any. No row: the name is taken, or they are others.
insert into storage.objects (name, bucket_id, owner, owner_id, version, metadata, user_metadata)
select $1, $2, $3::uuid, $4, $5, $6::jsonb, $7::jsonb
where $8::jsonb is null or exists (
  select from storage.buckets
  where id = $2
    and $8::jsonb = jsonb_build_object('file_size_limit', file_size_limit, 'allowed_mime_types', allowed_mime_types)
)
on conflict (name, bucket_id) do nothing
returning json_build_object(
  'Id', id, 'Key', bucket_id || '/' || name, 'name', name, 'bucket_id', bucket_id, 'owner', owner, 'owner_id', owner_id,
  'version', version, 'id', id,
  'updated_at', to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'last_accessed_at', to_char(last_accessed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'metadata', metadata, 'user_metadata', user_metadata
)

-- name: upsert
-- As the service role. The row keeps its id; the version that it had goes to the tombstones. $8 as above.
insert into storage.objects (name, bucket_id, owner, owner_id, version, metadata, user_metadata)
select $1, $2, $3::uuid, $4, $5, $6::jsonb, $7::jsonb
where $8::jsonb is null or exists (
  select from storage.buckets
  where id = $2
    and $8::jsonb = jsonb_build_object('file_size_limit', file_size_limit, 'allowed_mime_types', allowed_mime_types)
)
on conflict (name, bucket_id) do update set
  metadata = excluded.metadata,
  user_metadata = excluded.user_metadata,
  version = excluded.version,
  owner = excluded.owner,
  owner_id = excluded.owner_id,
  last_accessed_at = now()
returning json_build_object(
  'Id', id, 'Key', bucket_id || '/' || name, 'name', name, 'bucket_id', bucket_id, 'owner', owner, 'owner_id', owner_id,
  'version', version, 'id', id,
  'updated_at', to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'last_accessed_at', to_char(last_accessed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'metadata', metadata, 'user_metadata', user_metadata
)

-- name: whole
-- As whoever asks: all columns that clients read, with those of an answer to a copy.
select json_build_object(
  'Id', id, 'Key', bucket_id || '/' || name, 'name', name, 'bucket_id', bucket_id, 'owner', owner, 'owner_id', owner_id,
  'version', version, 'id', id,
  'updated_at', to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'last_accessed_at', to_char(last_accessed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'metadata', metadata, 'user_metadata', user_metadata
)
from storage.objects
where bucket_id = $1 and name = $2

-- name: move
-- As the caller, and undone; then as the service role.
update storage.objects
set name = $4, bucket_id = $3, version = $5, owner = $6::uuid, owner_id = $7
where bucket_id = $1 and name = $2
returning id

-- name: is_still
-- As the service role: the version under a name, kept from changes.
select version from storage.objects where bucket_id = $1 and name = $2 for update

-- name: rename_folder
-- As the caller: every object below a folder gets another beginning of its name. $4 is the longest name in bytes.
with renamed as (
  update storage.objects
  set name = $3 || substr(name, length($2) + 1)
  where bucket_id = $1 and name collate "C" >= $2 and name collate "C" < storage.prefix_end($2)
  returning octet_length(name) > $4::int as is_too_long
)
select count(*), coalesce(bool_or(is_too_long), false) from renamed

-- name: delete
-- As the caller.
delete from storage.objects where bucket_id = $1 and name = $2 returning id

-- name: is_there
-- As the service role.
select 1 from storage.objects where bucket_id = $1 and name = $2

-- name: delete_many
-- As the caller. $2 is a list of names; what he may not delete is not in the answer.
with gone as (
  delete from storage.objects
  where bucket_id = $1 and name = any (array(select jsonb_array_elements_text($2::jsonb)))
  returning *
)
select coalesce(json_agg(json_build_object(
  'name', name, 'bucket_id', bucket_id, 'owner', owner, 'owner_id', owner_id, 'version', version, 'id', id,
  'updated_at', to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'last_accessed_at', to_char(last_accessed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'metadata', metadata, 'user_metadata', user_metadata
) order by name collate "C"), '[]')
from gone

-- name: delete_below
-- As the caller: one batch of what is below a prefix.
delete from storage.objects
where id in (
  select id from storage.objects
  where bucket_id = $1 and name collate "C" >= $2 and name collate "C" < storage.prefix_end($2)
  order by name collate "C"
  limit $3::bigint
)
returning 1

-- name: search
-- As the caller: what is right below a folder.
select coalesce(json_agg(json_build_object(
  'name', name, 'id', id,
  'updated_at', to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'last_accessed_at', to_char(last_accessed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'metadata', metadata
)), '[]')
from storage.search($1, $2, $3::int, $4::int, $5::int, $6, $7, $8)

-- name: search_deep
-- As the caller: all that is below a folder, at any depth. $6 says whether backwards.
select coalesce(json_agg(shown.entry order by shown.number), '[]')
from (
  select
    json_build_object(
      'name', substr(name, length($2::text) + 1), 'id', id,
      'updated_at', to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'last_accessed_at', to_char(last_accessed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'metadata', metadata
    ) as entry,
    row_number() over () as number
  from (
    select * from storage.objects
    where bucket_id = $1
      and name collate "C" >= ($2::text || $5::text)
      and ($2::text || $5::text = '' or name collate "C" < storage.prefix_end($2::text || $5::text))
    order by
      case when not $6::boolean then name collate "C" end,
      case when $6::boolean then name collate "C" end desc
    limit $3::bigint
    offset $4::bigint
  ) found
) shown

-- name: search_v2
-- As the caller: a page of what begins with a prefix, folders folded.
select json_build_object(
  'key', key, 'name', name, 'id', id,
  'updated_at', to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'last_accessed_at', to_char(last_accessed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'metadata', metadata
)
from storage.search_v2($1, $2, $3::int, $4::int, $5, $6, $7, $8)

-- name: flat
-- As the caller: a page of keys that begin with a prefix, in byte order.
select json_build_object(
  'id', id, 'name', name,
  'updated_at', to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'last_accessed_at', to_char(last_accessed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'metadata', metadata
)
from storage.objects
where bucket_id = $1 and name collate "C" >= $2 and ($2 = '' or name collate "C" < storage.prefix_end($2))
  and ($4 = '' or name collate "C" > $4)
order by name collate "C"
limit $3::bigint

-- name: flat_backwards
select json_build_object(
  'id', id, 'name', name,
  'updated_at', to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'last_accessed_at', to_char(last_accessed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'metadata', metadata
)
from storage.objects
where bucket_id = $1 and name collate "C" >= $2 and ($2 = '' or name collate "C" < storage.prefix_end($2))
  and ($4 = '' or name collate "C" < $4)
order by name collate "C" desc
limit $3::bigint

-- name: flat_by_date
-- As the caller: the same by a date, whole milliseconds, names within one. $4 the last name, $5 its date, $6 which, $7 backwards.
select json_build_object(
  'id', id, 'name', name,
  'updated_at', to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'last_accessed_at', to_char(last_accessed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'metadata', metadata
)
from (
  select *,
    coalesce(date_trunc('milliseconds', case $6 when 'updated_at' then updated_at else created_at end), 'epoch') as moment
  from storage.objects
  where bucket_id = $1 and name collate "C" >= $2 and ($2 = '' or name collate "C" < storage.prefix_end($2))
) dated
where $4 = ''
  or (not $7::boolean and (moment, name collate "C") > ($5::timestamptz, $4))
  or ($7::boolean and (moment, name collate "C") < ($5::timestamptz, $4))
order by
  case when not $7::boolean then moment end,
  case when $7::boolean then moment end desc,
  case when not $7::boolean then name collate "C" end,
  case when $7::boolean then name collate "C" end desc
limit $3::bigint

-- name: versions
-- As the service role: versions of one name ($2), or of the bucket, or of all, after $3 in order; to drop what was made of them.
select json_build_object('id', id, 'version', version)
from storage.objects
where ($1 = '' or bucket_id = $1) and ($2 = '' or name = $2) and ($3 = '' or id > $3::uuid) and version is not null
order by id
limit $4::bigint
