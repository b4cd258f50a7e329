-- Sign-in flows (flow_state.py). All run as supabase_auth_admin.

-- name: insert
insert into auth.flow_state (
  id, user_id, code_challenge_method, code_challenge, provider_type, authentication_method, invite_token, referrer,
  oauth_client_state_id, linking_target_id, email_optional, browser_hash, created_at, updated_at
) values (
  $1, nullif($2, '')::uuid, nullif($3, '')::auth.code_challenge_method, nullif($4, ''), $5, $6, nullif($7, ''),
  nullif($8, ''), nullif($9, '')::uuid, nullif($10, '')::uuid, $11, nullif($12, ''), now(), now()
)

-- name: by_id
-- Locked, so that a flow is completed once.
select row_to_json(shown) from (select * from auth.flow_state where id = $1 for update) shown

-- name: newest_of_user
-- The user's newest flow that waits for a link of a kind; locked.
select row_to_json(shown) from (
  select * from auth.flow_state
  where user_id = $1 and authentication_method = $2 and auth_code is null
  order by created_at desc limit 1
  for update
) shown

-- name: complete
update auth.flow_state set
  user_id = $2, auth_code = $3, auth_code_issued_at = now(), updated_at = now(),
  provider_access_token = nullif($4, ''), provider_refresh_token = nullif($5, ''), session_not_after = $6
where id = $1

-- name: take
delete from auth.flow_state where auth_code = $1 returning row_to_json(flow_state)
