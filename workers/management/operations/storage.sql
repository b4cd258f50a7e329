-- Buckets, objects and uploads as administrators see them (storage_buckets.py, storage_objects.py), as a role that only reads.

-- name: buckets
-- $1 part of the name, $2 the last id of the page before, $3 rows.
select pg_catalog.json_build_object(
  'id', buckets.id, 'name', buckets.name, 'public', coalesce(buckets.public, false),
  'file_size_limit', buckets.file_size_limit, 'allowed_mime_types', buckets.allowed_mime_types,
  'created_at', buckets.created_at, 'updated_at', buckets.updated_at,
  'bytes', coalesce(used.bytes, 0), 'objects', coalesce(used.objects, 0), 'quota', quotas.size)
from storage.buckets
left join lateral (
  select pg_catalog.sum(size)::bigint as bytes, pg_catalog.sum(objects)::bigint as objects
  from storage.usage where bucket_id = buckets.id
) as used on true
left join storage.quotas on quotas.bucket_id = buckets.id
where buckets.id collate "C" > $2
  and ($1 = '' or pg_catalog.strpos(pg_catalog.lower(buckets.name), pg_catalog.lower($1)) > 0)
order by buckets.id collate "C"
limit $3::bigint

-- name: usage
-- Bytes and objects of all buckets together, and what unfinished uploads hold.
select pg_catalog.json_build_object(
  'bytes', coalesce((select pg_catalog.sum(size)::bigint from storage.usage_in_all), 0),
  'objects', coalesce((select pg_catalog.sum(objects)::bigint from storage.usage_in_all), 0),
  'quota', (select size from storage.quotas where bucket_id is null),
  'unfinished_bytes',
    coalesce((select pg_catalog.sum(upload_offset)::bigint from storage.tus_uploads
      where upload_offset is distinct from upload_length), 0)
    + coalesce((select pg_catalog.sum(size)::bigint from storage.s3_multipart_uploads_parts), 0))

-- name: search
-- $1 bucket, $2 prefix, $3 part of the name, $4 the last name of the page before, $5 rows.
select pg_catalog.json_build_object(
  'id', id, 'name', name, 'bytes', (metadata ->> 'size')::bigint, 'mime_type', metadata ->> 'mimetype',
  'created_at', created_at, 'updated_at', updated_at)
from storage.objects
where bucket_id = $1
  and name collate "C" >= $2 and ($2 = '' or name collate "C" < storage.prefix_end($2))
  and name collate "C" > $4
  and ($3 = '' or pg_catalog.strpos(pg_catalog.lower(name), pg_catalog.lower($3)) > 0)
order by name collate "C"
limit $5::bigint

-- name: object
select pg_catalog.json_build_object(
  'id', id, 'name', name, 'bytes', (metadata ->> 'size')::bigint, 'mime_type', metadata ->> 'mimetype',
  'created_at', created_at, 'updated_at', updated_at, 'last_accessed_at', last_accessed_at,
  'owner_id', owner_id, 'version', version, 'metadata', coalesce(metadata, '{}'), 'user_metadata', user_metadata)
from storage.objects
where bucket_id = $1 and name = $2

-- name: uploads
-- Uploads that have begun and not ended, the oldest first. $1 bucket or null, $2 rows, $3 and $4 the last row of the page before.
select pg_catalog.json_build_object(
  'protocol', uploads.protocol, 'id', uploads.id, 'bucket', uploads.bucket_id, 'name', uploads.key,
  'bytes_stored', uploads.stored, 'bytes_announced', uploads.announced,
  'created_at', uploads.created_at, 'expires_at', uploads.expires_at, 'owner_id', uploads.owner_id)
from (
  select 'resumable' as protocol, id::text as id, bucket_id, key::text, upload_offset as stored, upload_length as announced,
    created_at, expires_at, owner_id
  from storage.tus_uploads
  where upload_offset is distinct from upload_length
  union all
  select 's3', id, bucket_id, key::text,
    coalesce((select pg_catalog.sum(size)::bigint from storage.s3_multipart_uploads_parts where upload_id = multipart.id), 0),
    null, created_at, null, owner_id
  from storage.s3_multipart_uploads as multipart
) as uploads
where ($1::text is null or uploads.bucket_id = $1)
  and ($3::timestamptz is null or (uploads.created_at, uploads.id) > ($3::timestamptz, $4::text))
order by uploads.created_at, uploads.id
limit $2::bigint
