-- Sessions (sessions.py). All run as supabase_auth_admin.

-- name: insert
insert into auth.sessions (
  id, user_id, created_at, updated_at, aal, user_agent, ip, tag, refresh_token_hmac_key, refresh_token_counter,
  oauth_client_id, scopes, not_after
) values (
  $1, $2, now(), now(), $3::auth.aal_level, nullif($4, ''), nullif($5, '')::inet, nullif($6, ''), $7, $11, $8,
  nullif($9, ''), $10
)

-- name: insert_method
insert into auth.mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method)
values (gen_random_uuid(), $1, now(), now(), $2)
on conflict (session_id, authentication_method) do update set updated_at = now()

-- name: signed_in
update auth.users set last_sign_in_at = now(), updated_at = now() where id = $1

-- name: by_id
select row_to_json(shown) from (
  select sessions.id, user_id, created_at, aal, not_after, refreshed_at at time zone 'UTC' as refreshed_at, tag,
    oauth_client_id, scopes, refresh_token_hmac_key, refresh_token_counter,
    coalesce((
      select json_agg(m order by m.created_at desc) from (
        select authentication_method, created_at, case when authentication_method = 'sso/saml' then (
          select substr(i.provider, 5) from auth.identities i where i.user_id = sessions.user_id and i.provider like 'sso:%' limit 1
        ) end as provider
        from auth.mfa_amr_claims where session_id = sessions.id
      ) m
    ), '[]') as methods
  from auth.sessions
  where sessions.id = $1
) shown

-- name: begun
-- The same for a session that has just started, without SSO. Fails if a trigger of the project deleted it, and so rolls back
-- the transaction. The time is in the expression so that the planner does not evaluate the failing cast.
select coalesce((
  select row_to_json(shown) from (
    select sessions.id, user_id, created_at, aal, not_after, refreshed_at at time zone 'UTC' as refreshed_at, tag,
      oauth_client_id, scopes, refresh_token_hmac_key, refresh_token_counter,
      coalesce((
        select json_agg(m order by m.created_at desc) from (
          select authentication_method, created_at from auth.mfa_amr_claims where session_id = sessions.id
        ) m
      ), '[]') as methods
    from auth.sessions
    where sessions.id = $1
  ) shown
), ('no session, ' || now())::json)

-- name: lock
-- The same, locked; no row if another process has locked it.
select row_to_json(shown) from (
  select locked.id, user_id, created_at, aal, not_after, refreshed_at at time zone 'UTC' as refreshed_at, tag,
    oauth_client_id, scopes, refresh_token_hmac_key, refresh_token_counter,
    coalesce((
      select json_agg(m order by m.created_at desc) from (
        select authentication_method, created_at, case when authentication_method = 'sso/saml' then (
          select substr(i.provider, 5) from auth.identities i where i.user_id = locked.user_id and i.provider like 'sso:%' limit 1
        ) end as provider
        from auth.mfa_amr_claims where session_id = locked.id
      ) m
    ), '[]') as methods
  from (select * from auth.sessions where id = $1 for update skip locked) locked
) shown

-- name: newest_of_user
-- The user's session of one kind that was refreshed or started last. $3: the kinds; $4: the kind of all other tags.
select id from auth.sessions
where user_id = $1 and case when $3::jsonb ? tag then tag else $4 end = $2 and (not_after is null or not_after > now()) and oauth_client_id is null
order by coalesce(refreshed_at at time zone 'UTC', created_at) desc
limit 1

-- name: raise
-- The counter, if any, advances by 2, so that the last token is not even the direct predecessor of the current one.
update auth.sessions set
  aal = 'aal2', factor_id = $2, refresh_token_hmac_key = $3, refresh_token_counter = refresh_token_counter + 2,
  updated_at = now()
where id = $1
returning 1

-- name: use_method
-- A method that is used again moves to its new time.
insert into auth.mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method)
values (gen_random_uuid(), $1, now(), now(), $2)
on conflict (session_id, authentication_method) do update set created_at = now(), updated_at = now()

-- name: end_below
-- Sessions of OAuth clients stay: they have no second factor, and can do less than the user.
delete from auth.sessions
where user_id = $1 and id <> $2 and coalesce(aal, 'aal1') < 'aal2' and oauth_client_id is null

-- name: lower
with lowered as (
  update auth.sessions set aal = 'aal1', factor_id = null, updated_at = now() where factor_id = $1 returning id
)
delete from auth.mfa_amr_claims
where session_id in (select id from lowered)
  and authentication_method in ('totp', 'mfa/phone', 'mfa/webauthn', 'mfa/recovery_code')

-- name: of_user
select row_to_json(shown) from (
  select id, aal, user_agent, host(ip) as ip,
    to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as created_at,
    to_char(refreshed_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as refreshed_at,
    to_char(not_after at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as not_after
  from auth.sessions
  where user_id = $1 and (not_after is null or not_after > now())
  order by coalesce(sessions.refreshed_at at time zone 'UTC', sessions.created_at) desc
  limit 1000
) shown

-- name: end_one
delete from auth.sessions where id = $1

-- name: end_others
delete from auth.sessions where user_id = $1 and id <> $2

-- name: end_all
delete from auth.sessions where user_id = $1
