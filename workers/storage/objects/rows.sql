-- Objects (rows.py, uploads/, endpoints/delete.py). Settings and roles of the transactions: requests/identity.py.

-- name: openly
-- As the service role: whether the bucket is public, and if so its object with this name. One JSON object.
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
-- As the caller or the service role.
select json_build_object(
  'id', id, 'name', name, 'bucket_id', bucket_id, 'version', version, 'metadata', metadata,
  'user_metadata', user_metadata,
  'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'updated_at', to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
)
from storage.objects
where bucket_id = $1 and name = $2

-- name: locked
-- As the service role: the same, with a row lock until the transaction ends, so that nothing replaces or deletes it.
select json_build_object(
  'id', id, 'name', name, 'bucket_id', bucket_id, 'version', version, 'metadata', metadata,
  'user_metadata', user_metadata,
  'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'updated_at', to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
)
from storage.objects
where bucket_id = $1 and name = $2
for update

-- name: visible_names
-- As the caller. $2 is a list of names.
select coalesce(json_agg(name), '[]')
from storage.objects
where bucket_id = $1 and name = any (array(select jsonb_array_elements_text($2::jsonb)))

-- name: probe_insert
-- As the caller, rolled back. Without RETURNING, because a policy may allow the insert and not the select.
insert into storage.objects (name, bucket_id, owner, owner_id, version, metadata, user_metadata)
values ($1, $2, $3::uuid, $4, '1', $5::jsonb, $6::jsonb)

-- name: probe_upsert
-- As the caller, rolled back. The policies for insert, select and update all apply, even if the object does not exist yet.
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
-- Serialize the writers of one name.
select pg_advisory_xact_lock(hashtextextended($1 || '/' || $2, 0))

-- name: lock_two
-- Lock both names of a move, always in the same order: otherwise two moves could deadlock.
select pg_advisory_xact_lock(each) from (
  select each from unnest(array[hashtextextended($1, 0), hashtextextended($2, 0)]) as each order by each
) ordered

-- name: insert
-- As the service role. $8: the expected rules of the bucket, null for any. Returns no row if the name exists, or the rules differ.
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

-- name: insert_several
-- As the service role, objects of one bucket: $2 is a list of them, each with the expected rules of the bucket. A name that another
-- writer has locked is left out, as are names that exist. No row at all is written if something could depend on the request of
-- one row: policies, or a trigger beside the platform's own. Returns what a response shows, and the name.
insert into storage.objects (name, bucket_id, owner, owner_id, version, metadata, user_metadata)
select each.name, $1, each.owner, each.owner_id, each.version, each.metadata, each.user_metadata
from jsonb_to_recordset($2::jsonb) as each (
  name text, owner uuid, owner_id text, version text, metadata jsonb, user_metadata jsonb, rules jsonb
)
join storage.buckets on buckets.id = $1
  and each.rules = jsonb_build_object('file_size_limit', file_size_limit, 'allowed_mime_types', allowed_mime_types)
where pg_try_advisory_xact_lock(hashtextextended($1 || '/' || each.name, 0))
  and not row_security_active('storage.objects')
  and not exists (
    select from pg_trigger
    where tgrelid = 'storage.objects'::regclass
      and not tgisinternal
      and tgtype & 4 <> 0  -- on insert
      and tgfoid <> to_regprocedure('storage.note_new_objects()')
  )
on conflict (name, bucket_id) do nothing
returning json_build_object('Id', id, 'Key', bucket_id || '/' || name, 'name', name)

-- name: upsert
-- As the service role. The row keeps its id; a trigger moves the old version to the tombstones. $8 as above.
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

-- name: move
-- As the caller, rolled back; then as the service role.
update storage.objects
set name = $4, bucket_id = $3, version = $5, owner = $6::uuid, owner_id = $7
where bucket_id = $1 and name = $2
returning id

-- name: is_still
-- As the service role: lock the row and return its version.
select version from storage.objects where bucket_id = $1 and name = $2 for update

-- name: rename_folder
-- As the caller: replace the folder in the names of all its objects. $4 is the maximum length of a name in bytes.
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
-- As the caller. $2 is a list of names; names that policies protect are missing in the result.
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
-- As the caller: delete one batch below a prefix.
delete from storage.objects
where id in (
  select id from storage.objects
  where bucket_id = $1 and name collate "C" >= $2 and name collate "C" < storage.prefix_end($2)
  order by name collate "C"
  limit $3::bigint
)
returning 1

-- name: search
-- As the caller: the direct children of a folder.
select coalesce(json_agg(json_build_object(
  'name', name, 'id', id,
  'updated_at', to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'last_accessed_at', to_char(last_accessed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'metadata', metadata
)), '[]')
from storage.search($1, $2, $3::int, $4::int, $5::int, $6, $7, $8)

-- name: children
-- As the caller: the direct children of a folder by name. It is what `search` returns for this order, without passing every row on once more.
select coalesce(json_agg(json_build_object(
  'name', name, 'id', id,
  'updated_at', to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'last_accessed_at', to_char(last_accessed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'metadata', metadata
)), '[]')
from storage.children($1, $2, $3, $4::boolean, $5::bigint, $6::bigint)

-- name: search_deep
-- As the caller: all objects below a folder at any depth. $6: descending.
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
-- As the caller: a page of names with a prefix, grouped by folder.
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
-- As the caller: the same sorted by a date in milliseconds, then by name. $4 last name, $5 its date, $6 which date, $7 descending.
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
-- As the service role: versions of one name ($2), of a bucket, or of all, after $3 in order; their renditions are purged.
select json_build_object('id', id, 'version', version)
from storage.objects
where ($1 = '' or bucket_id = $1) and ($2 = '' or name = $2) and ($3 = '' or id > $3::uuid) and version is not null
order by id
limit $4::bigint
