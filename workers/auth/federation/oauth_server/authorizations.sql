-- What clients asked users for, and what users allowed (authorizations.py). All run as supabase_auth_admin.

-- name: insert
insert into auth.oauth_authorizations (
  id, authorization_id, client_id, redirect_uri, scope, state, resource, code_challenge, code_challenge_method, nonce,
  created_at, expires_at
) values (
  gen_random_uuid(), $1, $2, $3, $4, nullif($5, ''), nullif($6, ''), $7, $8::auth.code_challenge_method,
  nullif($9, ''), $10, $11
)

-- name: by_authorization_id
-- Locked, so that an authorization is decided once.
select row_to_json(a) from (
  select id, authorization_id, client_id, user_id, redirect_uri, scope, state, resource, code_challenge,
    code_challenge_method, status, expires_at, nonce
  from auth.oauth_authorizations
  where authorization_id = $1
  for update
) a

-- name: by_code
-- Locked, so that a code is exchanged once.
select row_to_json(a) from (
  select id, authorization_id, client_id, user_id, redirect_uri, scope, state, resource, code_challenge,
    code_challenge_method, status, expires_at, nonce
  from auth.oauth_authorizations
  where authorization_code = $1
  for update
) a

-- name: claim
update auth.oauth_authorizations set user_id = $2 where id = $1

-- name: approve
update auth.oauth_authorizations
set status = 'approved', approved_at = $2, authorization_code = $3, expires_at = $4
where id = $1

-- name: end
update auth.oauth_authorizations set status = $2::auth.oauth_authorization_status where id = $1

-- name: consent_of
select row_to_json(c) from (
  select client_id, scopes, granted_at from auth.oauth_consents
  where user_id = $1 and client_id = $2 and revoked_at is null
) c

-- name: consent
-- Scopes of before stay in front, unless they were taken back.
insert into auth.oauth_consents as held (id, user_id, client_id, scopes, granted_at)
values (gen_random_uuid(), $1, $2, $3, now())
on conflict (user_id, client_id) do update set granted_at = now(), revoked_at = null, scopes = case
  when held.revoked_at is not null then excluded.scopes
  else (
    select string_agg(scope, ' ' order by place)
    from (
      select scope, min(place) as place
      from unnest(string_to_array(held.scopes || ' ' || excluded.scopes, ' ')) with ordinality as every(scope, place)
      group by scope
    ) once
  )
end

-- name: consents
select row_to_json(shown) from (
  select consents.client_id, consents.scopes, consents.granted_at, clients.client_name, clients.client_uri,
    clients.logo_uri
  from auth.oauth_consents consents join auth.oauth_clients clients on clients.id = consents.client_id
  where consents.user_id = $1 and consents.revoked_at is null and clients.deleted_at is null
  order by consents.granted_at desc
) shown

-- name: revoke
update auth.oauth_consents set revoked_at = greatest(now(), granted_at)
where user_id = $1 and client_id = $2 and revoked_at is null
returning 1

-- name: end_authorizations
-- Locked in one order, or two who take back at once could wait for each other.
with theirs as (
  select id from auth.oauth_authorizations
  where user_id = $1 and client_id = $2 and status in ('pending', 'approved')
  order by id for update
)
update auth.oauth_authorizations set status = 'expired'
where id in (select id from theirs) and status in ('pending', 'approved')

-- name: end_sessions
delete from auth.sessions where user_id = $1 and oauth_client_id = $2
