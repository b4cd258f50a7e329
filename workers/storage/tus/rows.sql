-- Resumable uploads (rows.py), as the login role, which owns their table; it has no policies.

-- name: begin
insert into storage.tus_uploads (
  bucket_id, key, version, upload_length, upload_metadata, content_type, cache_control, user_metadata, owner, owner_id,
  upsert, expires_at, writer, leased_until
)
values (
  $1, $2, $3, $4::bigint, $5, $6, $7, $8::jsonb, $9::uuid, $10, $11::boolean,
  now() + make_interval(secs => $12::float8), $13::uuid,
  case when $13::uuid is not null then clock_timestamp() + make_interval(secs => $14::float8) end
)
returning json_build_object(
  'bucket_id', bucket_id, 'key', key, 'version', version, 'upload_length', upload_length, 'upload_offset', upload_offset,
  'upload_metadata', upload_metadata, 'content_type', content_type, 'cache_control', cache_control,
  'user_metadata', user_metadata, 'owner_id', owner_id, 'upsert', upsert, 'writer', writer,
  'expires_at', floor(extract(epoch from expires_at))::bigint, 'is_expired', false, 'is_complete', false
)

-- name: find
select json_build_object(
  'bucket_id', bucket_id, 'key', key, 'version', version, 'upload_length', upload_length, 'upload_offset', upload_offset,
  'upload_metadata', upload_metadata, 'content_type', content_type, 'cache_control', cache_control,
  'user_metadata', user_metadata, 'owner_id', owner_id, 'upsert', upsert, 'writer', writer,
  'expires_at', floor(extract(epoch from expires_at))::bigint, 'is_expired', expires_at <= now(),
  'is_complete', completed_at is not null
)
from storage.tus_uploads
where version = $1

-- name: find_locked
-- The same, with a row lock until the transaction ends.
select json_build_object(
  'bucket_id', bucket_id, 'key', key, 'version', version, 'upload_length', upload_length, 'upload_offset', upload_offset,
  'upload_metadata', upload_metadata, 'content_type', content_type, 'cache_control', cache_control,
  'user_metadata', user_metadata, 'owner_id', owner_id, 'upsert', upsert, 'writer', writer,
  'expires_at', floor(extract(epoch from expires_at))::bigint, 'is_expired', expires_at <= now(),
  'is_complete', completed_at is not null
)
from storage.tus_uploads
where version = $1
for update

-- name: hold
-- Take the lease for some seconds, if it is free and the upload is not complete.
update storage.tus_uploads
set writer = $2::uuid, leased_until = clock_timestamp() + make_interval(secs => $3::float8), is_awaited = false
where version = $1 and completed_at is null and (writer is null or leased_until < clock_timestamp())
returning 1

-- name: wait
-- Mark that another request waits for the lease; no row if the lease is free.
update storage.tus_uploads
set is_awaited = true
where version = $1 and writer is not null and leased_until >= clock_timestamp()
returning 1

-- name: renew
-- Renew the lease, and return whether another request waits for it.
update storage.tus_uploads
set leased_until = clock_timestamp() + make_interval(secs => $3::float8)
where version = $1 and writer = $2::uuid
returning is_awaited

-- name: let_go
update storage.tus_uploads
set writer = null, leased_until = null, is_awaited = false
where version = $1 and writer = $2::uuid

-- name: declare
-- Set a deferred length.
update storage.tus_uploads
set upload_length = $3::bigint
where version = $1 and writer = $2::uuid and upload_length is null

-- name: advance
-- Set the offset and release the lease.
update storage.tus_uploads
set upload_offset = least($3::bigint, upload_length), writer = null, leased_until = null, is_awaited = false
where version = $1 and writer = $2::uuid
returning 1

-- name: complete
update storage.tus_uploads
set upload_offset = upload_length, completed_at = now(), writer = null, leased_until = null, is_awaited = false
where version = $1

-- name: delete
-- Only by the writer that holds the lease.
delete from storage.tus_uploads where version = $1 and writer = $2::uuid

-- name: own_role
-- Return to the login role for the rest of a transaction.
select pg_catalog.set_config('role', 'none', true)

-- name: expired
-- A batch of expired uploads whose lease is free; rows that another worker has locked are skipped.
select json_build_object(
  'bucket_id', bucket_id, 'version', version,
  'is_named', exists (
    select from storage.objects
    where objects.version = tus_uploads.version and objects.bucket_id = tus_uploads.bucket_id
  )
)
from storage.tus_uploads
where expires_at <= now() and (leased_until is null or leased_until < clock_timestamp())
order by expires_at
limit $1::bigint
for update skip locked

-- name: forget
delete from storage.tus_uploads where version = any (array(select jsonb_array_elements_text($1::jsonb)))
