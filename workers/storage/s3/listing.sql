-- Listings (listing.py, multipart/uploads.py), as the caller.

-- name: objects
-- $4 entries at most, after the key or folder $5, or after all of $6. $7: with the owner of each object.
select json_build_object(
  'name', name, 'is_folder', id is null, 'etag', metadata ->> 'eTag',
  'size', case when metadata ->> 'size' ~ '^[0-9]{1,18}$' then (metadata ->> 'size')::bigint end,
  'modified', coalesce(
    metadata ->> 'lastModified', to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  ),
  'owner', case when $7::boolean then (select owner_id from storage.objects where objects.id = listed.id) end
)
from storage.list_objects_with_delimiter($1, $2, $3, $4::int, $5, $6) listed

-- name: uploads
-- $4 entries at most, after the key $5 and, of that key, the upload $6.
select json_build_object(
  'key', key, 'id', id, 'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
)
from storage.list_multipart_uploads_with_delimiter($1, $2, $3, $4::int, $5, $6)
