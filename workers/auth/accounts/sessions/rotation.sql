-- Refreshes (rotation.py). All run as supabase_auth_admin.

-- name: note
-- $4 is the number of its token, null for one with a row; $5 its key, null if it keeps what it has.
update auth.sessions set
  refresh_token_counter = $4, refresh_token_hmac_key = coalesce($5, refresh_token_hmac_key),
  refreshed_at = now() at time zone 'UTC', updated_at = now(),
  user_agent = nullif($2, ''), ip = nullif($3, '')::inet
where id = $1

-- name: wait
-- Until nobody else refreshes the session.
select 1 from auth.sessions where id = $1 for update

-- name: end_counting
delete from auth.sessions where id = $1 and refresh_token_counter is not null
