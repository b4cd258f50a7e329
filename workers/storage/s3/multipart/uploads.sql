-- Multipart uploads and their parts (uploads.py, parts.py, completion.py), as the service role unless noted.

-- name: create
insert into storage.s3_multipart_uploads (
  id, upload_signature, bucket_id, key, version, owner_id, user_metadata, metadata
)
values ($1, $2, $3, $4, $1, $5, $6::jsonb, $7::jsonb)

-- name: find
select json_build_object(
  'id', id, 'signature', upload_signature, 'owner_id', owner_id, 'user_metadata', user_metadata, 'metadata', metadata
)
from storage.s3_multipart_uploads
where id = $1 and bucket_id = $2 and key = $3

-- name: lock
-- Serialize parts, completion and abort of one upload.
select 1 from storage.s3_multipart_uploads where id = $1 for update

-- name: others
-- Bytes of all parts except one.
select coalesce(sum(size), 0)::bigint from storage.s3_multipart_uploads_parts
where upload_id = $1 and part_number <> $2::int

-- name: drop_part
delete from storage.s3_multipart_uploads_parts where upload_id = $1 and part_number = $2::int returning version

-- name: put_part
insert into storage.s3_multipart_uploads_parts (
  upload_id, part_number, bucket_id, key, size, etag, version, owner_id, checksums
)
values ($1, $2::int, $3, $4, $5::bigint, $6, $7, $8, $9::jsonb)

-- name: advance
update storage.s3_multipart_uploads
set in_progress_size = (
  select coalesce(sum(size), 0) from storage.s3_multipart_uploads_parts where upload_id = $1
)
where id = $1
returning in_progress_size

-- name: parts
-- Parts after number $2, at most $3.
select json_build_object(
  'number', part_number, 'size', size, 'etag', etag, 'version', version, 'checksums', checksums,
  'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
)
from storage.s3_multipart_uploads_parts
where upload_id = $1 and part_number > $2::int
order by part_number
limit $3::int

-- name: end
-- The rows of its parts are deleted by cascade.
delete from storage.s3_multipart_uploads where id = $1 returning id
