-- The usual refresh (counted_refresh.py). All run as supabase_auth_admin.

-- name: exchange
-- Advances the counter of session $1 if it is $2 still, no other transaction has locked the session, and neither it nor its
-- user has ended at $6; writes the audit entry; returns the session, no row otherwise. $3: what the row contains in place of
-- a derived key. $7 and $8: the action of the entry, and its group.
-- `current` locks before anything is changed: a statement that waited for the session would occupy a connection.
with current as materialized (
  select sessions.id, users.is_sso_user, coalesce(nullif(users.email, ''), users.phone, '') as username,
    case when jsonb_typeof(users.raw_user_meta_data -> 'full_name') = 'string' then nullif(users.raw_user_meta_data ->> 'full_name', '') end as full_name
  from auth.sessions
  join auth.users on users.id = sessions.user_id
  where sessions.id = $1 and sessions.refresh_token_counter = $2 and sessions.refresh_token_hmac_key = $3
    and sessions.oauth_client_id is null and (sessions.not_after is null or sessions.not_after > $6)
    and users.deleted_at is null and (users.banned_until is null or users.banned_until <= $6)
  for update of sessions skip locked
), counted as (
  update auth.sessions set
    refresh_token_counter = refresh_token_counter + 1, refreshed_at = now() at time zone 'UTC', updated_at = now(),
    user_agent = nullif($4, ''), ip = nullif($5, '')::inet
  where id = (select current.id from current)
  returning id, user_id, created_at, aal, not_after, tag, oauth_client_id, scopes, refresh_token_counter
), noted as (
  insert into auth.audit_log_entries (instance_id, id, payload, created_at, ip_address)
  select '00000000-0000-0000-0000-000000000000', gen_random_uuid(), json_strip_nulls(json_build_object(
    'actor_id', counted.user_id, 'actor_via_sso', is_sso_user, 'actor_username', username, 'action', $7::text, 'log_type', $8::text,
    'actor_name', full_name, 'traits', json_build_object('session_id', counted.id)
  )), clock_timestamp(), $5
  from counted, current
)
select row_to_json(shown) from (
  select counted.*,
    coalesce((
      select json_agg(m order by m.created_at desc) from (
        select authentication_method, created_at, case when authentication_method = 'sso/saml' then (
          select substr(i.provider, 5) from auth.identities i where i.user_id = counted.user_id and i.provider like 'sso:%' limit 1
        ) end as provider
        from auth.mfa_amr_claims where session_id = counted.id
      ) m
    ), '[]') as methods
  from counted
) shown
