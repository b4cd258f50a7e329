-- Passkeys, and challenges to create or use one (passkeys.py). All run as supabase_auth_admin.

-- name: open_challenge
insert into auth.webauthn_challenges (user_id, challenge_type, session_data, expires_at)
values (nullif($1, '')::uuid, $2, $3, $4)
returning id

-- name: take_challenge
-- Deletes a challenge of this purpose and user; of two concurrent requests one gets it.
delete from auth.webauthn_challenges
where id = $1 and challenge_type = $2 and user_id is not distinct from nullif($3, '')::uuid
returning json_build_object('challenge', session_data ->> 'challenge', 'expires_at', expires_at)

-- name: of_user
select row_to_json(shown) from (
  select id, user_id, encode(public_key, 'hex') as public_key, sign_count, backup_eligible, friendly_name, created_at, last_used_at
  from auth.webauthn_credentials
  where user_id = $1
) shown
order by shown.created_at, shown.id

-- name: by_credential
select row_to_json(shown) from (
  select id, user_id, encode(public_key, 'hex') as public_key, sign_count, backup_eligible, friendly_name, created_at, last_used_at
  from auth.webauthn_credentials
  where credential_id = decode($1, 'hex')
) shown

-- name: count
select count(*) from auth.webauthn_credentials where user_id = $1

-- name: insert
insert into auth.webauthn_credentials (
  user_id, credential_id, public_key, attestation_type, aaguid, sign_count, transports, backup_eligible, backed_up,
  friendly_name, created_at, updated_at
) values ($1, decode($2, 'hex'), decode($3, 'hex'), 'none', $4, $5, $6, $7, $8, $9, now(), now())
returning json_build_object(
  'id', id, 'user_id', user_id, 'public_key', '', 'sign_count', sign_count, 'backup_eligible', backup_eligible,
  'friendly_name', friendly_name, 'created_at', created_at, 'last_used_at', last_used_at
)

-- name: used
update auth.webauthn_credentials set sign_count = $2, backed_up = $3, last_used_at = now(), updated_at = now()
where id = $1

-- name: rename
update auth.webauthn_credentials set friendly_name = $3, updated_at = now()
where id = $1 and user_id = $2
returning json_build_object(
  'id', id, 'user_id', user_id, 'public_key', '', 'sign_count', sign_count, 'backup_eligible', backup_eligible,
  'friendly_name', friendly_name, 'created_at', created_at, 'last_used_at', last_used_at
)

-- name: delete
delete from auth.webauthn_credentials where id = $1 and user_id = $2 returning 1

-- name: known
-- Every credential of a user: passkeys, and factors.
select row_to_json(shown) from (
  select translate(encode(credential_id, 'base64'), E'\n', '') as id, transports
  from auth.webauthn_credentials where user_id = $1
  union all
  select web_authn_credential ->> 'id', coalesce(nullif(web_authn_credential -> 'transport', 'null'), '[]')
  from auth.mfa_factors
  where user_id = $1 and factor_type = 'webauthn' and web_authn_credential ->> 'id' is not null
) shown
