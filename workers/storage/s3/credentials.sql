-- Stored access keys (credentials.py), as the login role, which owns the table.

-- name: find
select json_build_object('secret', secret, 'claims', claims)
from storage.s3_access_keys
where access_key_id = $1 and revoked_at is null

-- name: create
insert into storage.s3_access_keys (access_key_id, secret, claims) values ($1, $2, $3::jsonb)
