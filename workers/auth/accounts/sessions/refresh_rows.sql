-- Refresh tokens of version 1 (refresh_rows.py). A trigger stores the SHA-256 of what is written into token and parent.
-- All run as supabase_auth_admin.

-- name: by_token
-- The token's SHA-256. `is_last`: no other token of the session was replaced after it.
select row_to_json(shown) from (
  select id, token, parent, session_id, coalesce(revoked, false) as is_revoked, coalesce(updated_at, created_at, 'epoch') as updated_at,
    not exists (
      select from auth.refresh_tokens other
      where other.session_id = found.session_id and coalesce(other.updated_at, 'epoch') > coalesce(found.updated_at, 'epoch')
    ) as is_last
  from auth.refresh_tokens found
  where token = $1
) shown

-- name: current
-- The newest token of a session that was not replaced.
select row_to_json(shown) from (
  select id, token, parent, session_id, false as is_revoked, coalesce(updated_at, created_at, 'epoch') as updated_at
  from auth.refresh_tokens
  where session_id = $1 and revoked is not true
  order by auth.refresh_tokens.id desc
  limit 1
) shown

-- name: add
insert into auth.refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, parent, session_id)
values ('00000000-0000-0000-0000-000000000000', $1, $2, false, now(), now(), nullif($3, ''), $4)

-- name: revoke
update auth.refresh_tokens set revoked = true, updated_at = now() where id = $1

-- name: revoke_all
update auth.refresh_tokens set revoked = true, updated_at = now() where session_id = $1 and revoked is not true

-- name: drop_all
delete from auth.refresh_tokens where session_id = $1
