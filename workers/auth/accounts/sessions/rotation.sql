-- Refreshes (rotation.py). All run as supabase_auth_admin.

-- name: note
-- $4 is the token counter, null for sessions with token rows; $5 the session's key, null to leave it as it is.
update auth.sessions set
  refresh_token_counter = $4, refresh_token_hmac_key = coalesce($5, refresh_token_hmac_key),
  refreshed_at = now() at time zone 'UTC', updated_at = now(),
  user_agent = nullif($2, ''), ip = nullif($3, '')::inet
where id = $1

-- name: wait
-- Waits until no other transaction refreshes the session.
select 1 from auth.sessions where id = $1 for update

-- name: end_counting
delete from auth.sessions where id = $1 and refresh_token_counter is not null
