-- Sessions (sessions.py). All run as supabase_auth_admin.

-- name: insert
insert into auth.sessions (
  id, user_id, created_at, updated_at, aal, user_agent, ip, tag, refresh_token_hmac_key, refresh_token_counter
) values ($1, $2, now(), now(), $3::auth.aal_level, nullif($4, ''), nullif($5, '')::inet, nullif($6, ''), $7, 0)

-- name: insert_method
insert into auth.mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method)
values (gen_random_uuid(), $1, now(), now(), $2)
on conflict (session_id, authentication_method) do update set updated_at = now()

-- name: signed_in
update auth.users set last_sign_in_at = now(), updated_at = now() where id = $1

-- name: by_id
select row_to_json(shown) from (
  select sessions.id, user_id, created_at, aal, not_after, refreshed_at at time zone 'UTC' as refreshed_at, tag,
    oauth_client_id, refresh_token_hmac_key, refresh_token_counter,
    coalesce((select json_agg(m order by m.created_at desc) from auth.mfa_amr_claims m where m.session_id = sessions.id), '[]') as methods
  from auth.sessions
  where sessions.id = $1
) shown

-- name: lock
-- The same, locked; no row if another process holds it.
select row_to_json(shown) from (
  select locked.id, user_id, created_at, aal, not_after, refreshed_at at time zone 'UTC' as refreshed_at, tag,
    oauth_client_id, refresh_token_hmac_key, refresh_token_counter,
    coalesce((select json_agg(m order by m.created_at desc) from auth.mfa_amr_claims m where m.session_id = locked.id), '[]') as methods
  from (select * from auth.sessions where id = $1 for update skip locked) locked
) shown

-- name: rotate
update auth.sessions set
  refresh_token_counter = refresh_token_counter + 1,
  refreshed_at = now() at time zone 'UTC', updated_at = now(),
  user_agent = nullif($2, ''), ip = nullif($3, '')::inet
where id = $1

-- name: newest_of_user
-- Of a user's sessions (of one tag), that which was refreshed or entered last.
select id from auth.sessions
where user_id = $1 and coalesce(tag, '') = $2 and (not_after is null or not_after > now())
order by coalesce(refreshed_at at time zone 'UTC', created_at) desc
limit 1

-- name: end_one
delete from auth.sessions where id = $1

-- name: end_others
delete from auth.sessions where user_id = $1 and id <> $2

-- name: end_all
delete from auth.sessions where user_id = $1
