-- Stored access keys (access_keys.py), as the login role, which owns the table.

-- name: list
select coalesce(json_agg(
  json_build_object('access_key_id', access_key_id, 'claims', claims, 'created_at', created_at)
  order by created_at, access_key_id
), '[]')
from storage.s3_access_keys
where revoked_at is null

-- name: revoke
-- The row stays, so that the id is never used again; the secret is deleted.
update storage.s3_access_keys set revoked_at = now(), secret = ''
where access_key_id = $1 and revoked_at is null
returning access_key_id
